//! Images: files that are whole, cut, wrong or lying; digits from a seed; fits that go on to the same bits.

use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use std::io::Write;
use std::path::{Path, PathBuf};
use tractable::data::{self, Augment, Images, PixelScaling, Scaler};
use tractable::fnv::{EMPTY, fnv1a_64};
use tractable::{Activation, Fit, Matrix, Network, Shape};

fn names(n: usize) -> Vec<String> {
    (0..n).map(|i| i.to_string()).collect()
}

/// An IDX file of unsigned bytes.
fn idx_bytes(sizes: &[u32], content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0, 0, 8, sizes.len() as u8];
    sizes.iter().for_each(|s| bytes.extend(s.to_be_bytes()));
    bytes.extend(content);
    bytes
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(bytes).unwrap();
    packed.finish().unwrap()
}

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Folder(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

#[test]
fn plain_and_gzip_files_are_read_alike() {
    let folder = Folder::new();
    let pixels: Vec<u8> = (0..4 * 6).collect();
    let images = idx_bytes(&[4, 2, 3], &pixels);
    let labels = idx_bytes(&[4], &[3, 0, 1, 2]);
    let plain = data::idx(folder.file("i", &images), folder.file("l", &labels), names(4)).unwrap();
    // A name does not decide: gzip without `.gz`, and two members in one file.
    let halves = [gzip(&images[..20]), gzip(&images[20..])].concat();
    let packed = data::idx(folder.file("i2", &halves), folder.file("l2", &gzip(&labels)), names(4)).unwrap();
    assert_eq!(plain, packed);
    assert_eq!(plain.shape(), Shape::image(1, 2, 3));
    assert_eq!((plain.labels(), plain.pixels(3)), (vec![3, 0, 1, 2], &pixels[18..]));
}

/// What reading images with these bytes says.
fn complaint(images: &[u8], labels: &[u8]) -> String {
    let folder = Folder::new();
    let read = data::idx(folder.file("IMAGES", images), folder.file("LABELS", labels), names(10));
    read.unwrap_err().to_string()
}

#[test]
fn bad_idx_files_are_refused_with_the_reason() {
    let images = idx_bytes(&[2, 2, 2], &[1; 8]);
    let labels = idx_bytes(&[2], &[0, 9]);
    let packed = gzip(&images);
    let mut spoiled = packed.clone();
    let at = spoiled.len() - 6; // in the checksum at the end
    spoiled[at] ^= 1;
    let cases: &[(&[u8], &[u8], &str)] = &[
        (&[], &labels, "IMAGES: the file is too short"),
        (&images[..3], &labels, "IMAGES: the file is too short"),
        (&images[..11], &labels, "IMAGES: truncated"),
        (&images[..23], &labels, "IMAGES: truncated"),
        (&packed[..packed.len() - 9], &labels, "IMAGES: truncated"),
        (&packed[..packed.len() - 3], &labels, "IMAGES: truncated"),
        (&spoiled, &labels, "IMAGES: damaged gzip"),
        (b"PNG image of a cat", &labels, "IMAGES: not an IDX file of images"),
        (
            &labels,
            &images,
            "IMAGES: not an IDX file of images: it starts with 2049, not 2051; it contains labels",
        ),
        (&images, &images, "LABELS: not an IDX file of labels"),
        (&idx_bytes(&[2, 2, 2], &[1; 9]), &labels, "IMAGES: it has more bytes"),
        (&gzip(&idx_bytes(&[2, 2, 2], &[1; 9])), &labels, "IMAGES: it has more bytes"),
        (&idx_bytes(&[0, 2, 2], &[]), &labels, "IMAGES: it has no images"),
        (&idx_bytes(&[1, 100_000, 1], &[1; 100_000]), &labels, "100000 by 1 pixels"),
        // Sizes that would take more memory than there is, or wrap around.
        (&idx_bytes(&[u32::MAX; 3], &[1; 8]), &labels, "more than the file can hold"),
        (&idx_bytes(&[1 << 31, 1 << 31, 4], &[1; 8]), &labels, "more than the file can hold"),
        (&gzip(&idx_bytes(&[60_000, 28, 28], &[1; 8])), &labels, "more than the file can hold"),
        (&gzip(&idx_bytes(&[500, 3, 3], &[1; 8])), &labels, "only 8 of 4500 bytes of images"),
        (&images, &idx_bytes(&[3], &[0; 3]), "LABELS: 3 labels, but"),
        (&images, &idx_bytes(&[2], &[0, 10]), "LABELS: label 10 of image 1 is not one of 10 classes"),
    ];
    for (images, labels, says) in cases {
        let said = complaint(images, labels);
        assert!(said.contains(says), "{said} does not say {says}");
    }
    let folder = Folder::new();
    let said = data::idx(folder.path(), folder.path(), names(10)).unwrap_err().to_string();
    assert!(said.contains("not a file") || said.contains("cannot"), "{said}");
    let said = data::mnist(folder.path()).unwrap_err().to_string();
    assert!(said.contains("neither train-images-idx3-ubyte nor train-images-idx3-ubyte.gz"), "{said}");
}

#[test]
fn sets_are_found_by_the_names_of_their_files() {
    let folder = Folder::new();
    for (part, n) in [("train", 3), ("t10k", 2)] {
        let images = idx_bytes(&[n, 28, 28], &vec![n as u8; n as usize * 784]);
        folder.file(&format!("{part}-images-idx3-ubyte.gz"), &gzip(&images));
        folder.file(&format!("{part}-labels.idx1-ubyte"), &idx_bytes(&[n], &vec![9; n as usize]));
    }
    let (train, test) = data::mnist(folder.path()).unwrap();
    assert_eq!((train.len(), test.len(), test.pixels(1)[5]), (3, 2, 2));
    assert_eq!(data::fashion_mnist(folder.path()).unwrap().0.class_names()[9], "ankle boot");
}

/// A record of CIFAR-10: the label, then planes of red, green and blue.
fn record(label: u8, colour: [u8; 3]) -> Vec<u8> {
    std::iter::once(label).chain(colour.into_iter().flat_map(|c| [c; 1024])).collect()
}

#[test]
fn cifar_batches_are_read_in_order() {
    let folder = Folder::new();
    let batches = folder.path().join("cifar-10-batches-bin");
    std::fs::create_dir(&batches).unwrap();
    for i in 1..=5u8 {
        let bytes = [record(i, [i, 0, 0]), record(0, [0, i, 200])].concat();
        std::fs::write(batches.join(format!("data_batch_{i}.bin")), bytes).unwrap();
    }
    std::fs::write(batches.join("test_batch.bin.gz"), gzip(&record(3, [1, 2, 3]))).unwrap();
    let (train, test) = data::cifar10(folder.path()).unwrap();
    assert_eq!((train.len(), test.len(), train.shape()), (10, 1, Shape::image(3, 32, 32)));
    assert_eq!(train.labels(), [1, 0, 2, 0, 3, 0, 4, 0, 5, 0]);
    let pixels = train.pixels(3);
    assert_eq!((pixels[0], pixels[1024], pixels[2047], pixels[2048]), (0, 2, 2, 200));
    assert_eq!(test.class_names()[test.label(0)], "cat");
    for (bytes, says) in [
        (record(3, [0; 3])[..3000].to_vec(), "data_batch_3.bin: truncated"),
        (vec![], "data_batch_3.bin: the file is empty"),
        ([record(3, [0; 3]), vec![1]].concat(), "1 bytes are left over"),
        (record(10, [0; 3]), "data_batch_3.bin: label 10 of image 0"),
        (gzip(&record(3, [7; 3]))[..30].to_vec(), "damaged gzip"),
    ] {
        std::fs::write(batches.join("data_batch_3.bin"), bytes).unwrap();
        let said = data::cifar10(folder.path()).unwrap_err().to_string();
        assert!(said.contains(says), "{said} does not say {says}");
    }
}

#[test]
fn digits_are_the_same_everywhere() {
    let digits = data::digits(500, 3).unwrap();
    let all = (0..500).flat_map(|i| digits.pixels(i).to_vec());
    let hash = fnv1a_64(EMPTY, all);
    assert_eq!(hash, DIGITS, "{hash:#x}");
    assert_ne!(digits, data::digits(500, 4).unwrap());
    for class in 0..10 {
        let n = digits.labels().iter().filter(|l| **l == class).count();
        assert!((20..90).contains(&n), "{n} times {class}");
    }
    // Ink in the middle, none at the edge but the grain of the paper.
    let edge = (0..500).map(|i| digits.pixels(i)[..28].iter().copied().max().unwrap()).max().unwrap();
    assert!(edge < 60, "{edge}");
    assert!(data::digits(0, 0).is_err() && data::digits(usize::MAX, 0).is_err());
}

/// FNV-1a of all their pixels: a change here changes every example and test that learns digits.
const DIGITS: u64 = 0x9eae35b14a1165d6;

#[test]
fn digits_can_be_learned_but_not_by_a_line() {
    let (train, test) = (data::digits(3000, 0).unwrap(), data::digits(500, 1).unwrap());
    let error = |hidden: &[usize]| {
        let widths = [784].into_iter().chain(hidden.iter().copied()).chain([11]);
        let mut net = Network::mlp(widths, Activation::Relu).classes(10).build().unwrap();
        net.fit(&train, &Fit::new().epochs(4).noise_std(0.5)).unwrap();
        let p = net.predict_classes(&test.matrix(0..500).unwrap()).unwrap();
        tractable::metrics::error_rate(p.data(), &test.labels()).unwrap()
    };
    let (linear, small) = (error(&[]), error(&[64]));
    assert!(small < 0.15 && linear > 1.5 * small, "linear {linear}, small network {small}");
}

#[test]
fn a_resumed_fit_sees_the_same_changed_images() {
    let images = || data::digits(300, 5).unwrap();
    let changed = Augment { flip: true, crop: 3, cutout: 5 };
    let net = || Network::mlp([784, 16, 11], Activation::Relu).classes(10).seed(2).build().unwrap();
    let fit = |epochs| Fit::new().epochs(epochs).noise_std(0.7).seed(9);
    let weights = |net: &Network| net.weights("linear1").unwrap().unwrap().0;
    for augment in [None, Some(changed)] {
        let data = augment.map_or(images(), |a| images().augment(a));
        let (mut whole, mut parts) = (net(), net());
        whole.fit(&data, &fit(3)).unwrap();
        parts.fit(&data, &fit(1)).unwrap();
        parts.fit(&data, &fit(3).first_epoch(1)).unwrap();
        assert_eq!(weights(&whole), weights(&parts), "{augment:?}");
    }
    let (mut plain, mut moved) = (net(), net());
    plain.fit(&images(), &fit(1)).unwrap();
    moved.fit(&images().augment(changed), &fit(1)).unwrap();
    assert_ne!(weights(&plain), weights(&moved));
}

#[test]
fn images_learn_as_the_same_numbers_do() {
    let images = data::digits(200, 1).unwrap().scaling(PixelScaling::None);
    let x = images.matrix(0..200).unwrap();
    let table = data::Dataset::with_labels(x, images.labels(), names(10)).unwrap();
    let net = || Network::mlp([784, 16, 11], Activation::Relu).classes(10).build().unwrap();
    let fit = Fit::new().epochs(2).noise_std(0.7).early_stopping(0.2, 9);
    let (mut a, mut b) = (net(), net());
    let nll = |r: tractable::train::FitReport| r.epochs[1].validation_nll;
    assert_eq!(nll(a.fit(&images, &fit).unwrap()), nll(b.fit(&table, &fit).unwrap()));
    assert_eq!(a.nll(&images).unwrap(), b.nll(&table).unwrap());
}

#[test]
fn scalers_hold_the_mean_and_spread_of_the_channels() {
    let pixels = [vec![0, 255], vec![51; 2], vec![255, 255], vec![51; 2]].concat();
    let images = Images::new(Shape::image(2, 1, 2), pixels, vec![0, 1], names(2)).unwrap();
    for (scaling, std) in [(PixelScaling::Center, 1.0), (PixelScaling::Standardize, 0.1875f64.sqrt())] {
        let mut net = Network::mlp([4, 1], Activation::Relu).classes(2).build().unwrap();
        net.fit(&images.clone().scaling(scaling), &Fit::new().epochs(1)).unwrap();
        let scaler = net.input_scaler().unwrap();
        let expected = Matrix::new(vec![0.75, 0.75, 0.2, 0.2, std, std, 1.0, 1.0], 4).unwrap();
        let got = scaler.mean().iter().chain(scaler.std());
        got.zip(expected.data()).for_each(|(a, b)| assert!((a - b).abs() < 1e-15, "{scaler:?}"));
    }
}

#[test]
fn images_of_another_size_are_refused() {
    let small = Images::new(Shape::image(1, 14, 14), vec![0; 196], vec![0], names(10)).unwrap();
    let mut net = tractable::recipes::mnist().build().unwrap();
    let said = net.fit(&small, &Fit::new()).unwrap_err().to_string();
    assert_eq!(said, "images: expected images of 1x28x28, got 1x14x14");
    // As many pixels in another form mean something else to a convolution.
    let wide = Images::new(Shape::image(1, 14, 56), vec![0; 784], vec![0], names(10)).unwrap();
    assert!(net.nll(&wide).unwrap_err().to_string().contains("got 1x14x56"));
    let many = Images::new(Shape::image(1, 28, 28), vec![0; 784], vec![0], names(11)).unwrap();
    assert!(net.nll(&many).unwrap_err().to_string().contains("expected 10 classes"));
    assert!(Images::new(Shape::image(1, 2, 2), vec![0; 7], vec![0, 0], names(2)).is_err());
    assert!(Images::new(Shape::image(1, 2, 2), vec![0; 4], vec![2], names(2)).is_err());
    assert!(Images::new(Shape::image(1, 2, 2), vec![0; 4], vec![0], names(1)).is_err());
    assert!(Images::new(Shape::image(1, 2, 2), vec![], vec![], names(2)).is_err());
}

/// One epoch of a network that only remembers: what an image looks like when it is changed.
#[test]
fn changed_images_are_shifted_mirrored_and_holed() {
    // A single bright pixel can be followed.
    let mut pixels = vec![0; 81];
    pixels[9 * 4 + 2] = 255;
    let images = Images::new(Shape::image(1, 9, 9), pixels.clone(), vec![0], names(2)).unwrap();
    let seen = |augment: Augment, epoch: usize| -> Vec<f64> {
        let image = images.clone().augment(augment);
        image.changed(&[0], 1, epoch).unwrap().data().to_vec()
    };
    let mut places = std::collections::BTreeSet::new();
    for epoch in 0..300 {
        let x = seen(Augment { crop: 2, ..Augment::default() }, epoch);
        let at: Vec<usize> = (0..81).filter(|&i| x[i] == 1.0).collect();
        assert_eq!(at.len(), 1);
        places.insert((at[0] / 9, at[0] % 9));
        let flipped = seen(Augment { flip: true, ..Augment::default() }, epoch);
        assert!(flipped[9 * 4 + 2] + flipped[9 * 4 + 6] == 1.0);
    }
    let expected = (2..=6).flat_map(|r| (0..=4).map(move |c| (r, c))).collect();
    assert_eq!(places, expected);
    let grey = 1.0 / 81.0;
    for epoch in 0..50 {
        let holed = seen(Augment { cutout: 3, ..Augment::default() }, epoch);
        let hole = holed.iter().filter(|v| (**v - grey).abs() < 1e-12).count();
        assert!([4, 6, 9].contains(&hole), "{hole}");
    }
    assert_eq!(seen(Augment::default(), 0), images.matrix(0..1).unwrap().data());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever a file holds: images or an error, never a panic nor more memory than the file can fill.
    #[test]
    fn no_bytes_break_the_readers(
        packed in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        keep in 0.0..1.2f64,
    ) {
        let folder = Folder::new();
        let spoil = |mut bytes: Vec<u8>| {
            changes.iter().for_each(|(at, to)| { let at = at.index(bytes.len()); bytes[at] = *to });
            bytes.truncate((keep * bytes.len() as f64) as usize);
            bytes
        };
        let form = |bytes: Vec<u8>| if packed { gzip(&bytes) } else { bytes };
        let images = folder.file("i", &spoil(form(idx_bytes(&[3, 2, 2], &[5; 12]))));
        let labels = folder.file("l", &form(idx_bytes(&[3], &[0, 1, 2])));
        if let Ok(read) = data::idx(&images, &labels, names(3)) {
            prop_assert_eq!((read.len(), read.shape().len()), (3, 4));
        }
        let batch = folder.file("b", &spoil(form([record(1, [1, 2, 3]), record(2, [4, 5, 6])].concat())));
        if let Ok(read) = data::cifar_batches(&[batch], names(10)) {
            prop_assert!((1..=2).contains(&read.len()));
        }
    }
}

#[test]
fn a_calibration_that_fails_keeps_the_one_before() {
    let digits = data::digits(60, 1).unwrap();
    let net = Network::builder(digits.shape()).layer(tractable::Layer::linear(10));
    let mut net = net.classes(10).build().unwrap();
    net.calibrate(&digits).unwrap();
    let x = Matrix::new(vec![0.5; digits.shape().len()], digits.shape().len()).unwrap();
    let before = net.predict_classes(&x).unwrap();
    let narrow = Scaler::new(vec![0.0; x.width()], vec![1e-300; x.width()]).unwrap();
    net.set_scalers(Some(narrow), None).unwrap();
    net.calibrate(&digits).unwrap_err();
    net.set_scalers(None, None).unwrap();
    assert_eq!(net.predict_classes(&x).unwrap(), before);
}
