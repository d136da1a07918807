//! NumPy's array files, in C order, little-endian: f32 are written, the usual kinds of numbers are read.

use std::io::{self, Read, Write};
use std::path::Path;

/// Files above this are refused unread.
const MOST_BYTES: u64 = 64 << 20;
/// As f64 they take 64 MiB, whatever they were in the file.
const MOST_ENTRIES: usize = 8 << 20;

/// The array of this shape, as the text of a `.npy` file of version 1.
pub(crate) fn write(to: &mut impl Write, shape: &[usize], data: &[f32]) -> io::Result<()> {
    assert_eq!(shape.iter().product::<usize>(), data.len(), "a shape for other data");
    let sizes: String = shape.iter().map(|s| format!("{s}, ")).collect();
    let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}), }}", sizes.trim_end());
    // Magic, version and length take ten bytes; with the header, a multiple of 64, ended by a new line.
    let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
    to.write_all(b"\x93NUMPY\x01\x00")?;
    to.write_all(&(length as u16).to_le_bytes())?;
    to.write_all(format!("{header:<0$}\n", length - 1).as_bytes())?;
    for part in data.chunks(1 << 14) {
        to.write_all(&part.iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>())?;
    }
    Ok(())
}

/// Shape and numbers of a file, or what is wrong with it.
pub(crate) fn read(path: &Path) -> Result<(Vec<usize>, Vec<f64>), String> {
    let mut bytes = Vec::new();
    // To open a pipe is to wait for somebody to write to it.
    if !std::fs::metadata(path).map_err(|e| e.to_string())?.is_file() {
        return Err("is not a file".into());
    }
    let file = std::fs::File::open(path).map_err(|e| e.to_string())?;
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(format!("is larger than {} MiB", MOST_BYTES >> 20));
    }
    parse(&bytes)
}

pub fn parse(bytes: &[u8]) -> Result<(Vec<usize>, Vec<f64>), String> {
    let rest = bytes.strip_prefix(b"\x93NUMPY").ok_or("not a .npy file")?;
    let (&[major, _], rest) = rest.split_first_chunk().ok_or("ends in its header")?;
    let (length, rest) = match major {
        1 => rest.split_first_chunk().map(|(l, rest)| (usize::from(u16::from_le_bytes(*l)), rest)),
        2 | 3 => rest.split_first_chunk().map(|(l, rest)| (u32::from_le_bytes(*l) as usize, rest)),
        _ => return Err(format!("has version {major}; 1 to 3 are known")),
    }
    .ok_or("ends in its header")?;
    let (header, data) = rest.split_at_checked(length).ok_or("ends in its header")?;
    let header = std::str::from_utf8(header).map_err(|_| "has a header that is not text")?;
    // Once: another reader might believe the second.
    let value = |key: &str| {
        let quoted = format!("'{key}':");
        let mut parts = header.split(&quoted).skip(1);
        parts.next().filter(|_| parts.next().is_none()).map(str::trim_start)
    };
    let quoted = |text: &str| text.strip_prefix('\'')?.split('\'').next().map(str::to_string);
    let kind = value("descr").and_then(quoted).ok_or("has no plain type of numbers in its header")?;
    if !value("fortran_order").is_some_and(|v| v.starts_with("False")) {
        return Err("is in Fortran's order; save it with numpy.ascontiguousarray".into());
    }
    let shape = value("shape").and_then(|v| v.strip_prefix('(')?.split_once(')')).map(|(inside, _)| inside);
    let sizes =
        shape.ok_or("has no shape in its header")?.split(',').map(str::trim).filter(|s| !s.is_empty());
    let shape: Vec<usize> = sizes
        .map(|s| s.parse().map_err(|_| format!("has a shape with `{s}` in it")))
        .collect::<Result<_, String>>()?;
    let entries = shape.iter().try_fold(1usize, |n, &s| n.checked_mul(s)).ok_or("has a shape too large")?;
    let numbers = |size: usize, number: &dyn Fn(&[u8]) -> f64| {
        if entries > MOST_ENTRIES {
            return Err(format!("has {entries} numbers; at most {MOST_ENTRIES} are read"));
        }
        if entries.checked_mul(size) != Some(data.len()) {
            return Err(format!("has {} bytes of numbers; {entries} of {size} were announced", data.len()));
        }
        Ok(data.chunks_exact(size).map(number).collect::<Vec<f64>>())
    };
    let word = |b: &[u8]| <[u8; 4]>::try_from(b).expect("four bytes");
    let long = |b: &[u8]| <[u8; 8]>::try_from(b).expect("eight bytes");
    let data = match kind.as_str() {
        "|b1" | "|u1" => numbers(1, &|b| f64::from(b[0])),
        "<i4" => numbers(4, &|b| f64::from(i32::from_le_bytes(word(b)))),
        "<i8" => numbers(8, &|b| i64::from_le_bytes(long(b)) as f64),
        "<f4" => numbers(4, &|b| f64::from(f32::from_le_bytes(word(b)))),
        "<f8" => numbers(8, &|b| f64::from_le_bytes(long(b))),
        _ => Err(format!("holds `{kind}`; bool, uint8, int32, int64, float32 and float64 are read")),
    }?;
    match data.iter().position(|v| !v.is_finite()) {
        Some(at) => Err(format!("has {} at {at}", data[at])),
        None => Ok((shape, data)),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_written_is_read() {
        let mut file = Vec::new();
        super::write(&mut file, &[2, 1, 3], &[0.0, 1.0, -2.5, 3.0, 4.0, 5.0]).unwrap();
        let (shape, data) = super::parse(&file).unwrap();
        assert_eq!((shape, data), (vec![2, 1, 3], vec![0.0, 1.0, -2.5, 3.0, 4.0, 5.0]));
        // Cut anywhere, it is refused and nothing panics.
        for end in 0..file.len() {
            assert!(super::parse(&file[..end]).is_err(), "cut at {end}");
        }
    }

    #[test]
    fn other_kinds_and_bad_headers() {
        let file = |header: &str, data: &[u8]| {
            let length = (header.len() as u16).to_le_bytes();
            [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), data].concat()
        };
        let of = |kind: &str, shape: &str| {
            format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n")
        };
        let read = |kind: &str, shape: &str, data: &[u8]| super::parse(&file(&of(kind, shape), data));
        assert_eq!(read("|b1", "(2,)", &[1, 0]), Ok((vec![2], vec![1.0, 0.0])));
        assert_eq!(read("|u1", "(1, 2)", &[7, 255]), Ok((vec![1, 2], vec![7.0, 255.0])));
        assert_eq!(read("<i8", "(1,)", &(-3i64).to_le_bytes()), Ok((vec![1], vec![-3.0])));
        assert_eq!(read("<i4", "(1,)", &(-3i32).to_le_bytes()), Ok((vec![1], vec![-3.0])));
        assert_eq!(read("<f8", "()", &0.5f64.to_le_bytes()), Ok((vec![], vec![0.5])));
        for (kind, shape, data, why) in [
            ("<f8", "(2,)", &[0u8; 8][..], "announced"),
            ("|O", "(1,)", &[0; 8], "holds"),
            ("|u1", "(-1,)", &[0], "shape with"),
            ("|u1", "(99999999999, 99999999999)", &[0], "too large"),
            ("<f8", "(4611686018427387904,)", &[0; 8], "at most"),
            ("|u1", "(8388609,)", &[0; 8388609], "at most"),
            ("<f8", "(1,)", &f64::NAN.to_le_bytes(), "has NaN at 0"),
            ("<f4", "(2,)", &[0, 0, 0, 0, 0, 0, 0x80, 0xff], "has -inf at 1"),
            ("|u1", "(1,), 'shape': (2,)", &[0, 0], "no shape"),
        ] {
            let error = read(kind, shape, data).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        let fortran = "{'descr': '|u1', 'fortran_order': True, 'shape': (1,), }";
        assert!(super::parse(&file(fortran, &[0])).unwrap_err().contains("Fortran"));
    }

    #[test]
    fn numpy_can_read_it() {
        let mut file = Vec::new();
        super::write(&mut file, &[2, 1, 3], &[0.0, 1.0, -2.5, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!(&file[..8], b"\x93NUMPY\x01\x00");
        let length = usize::from(u16::from_le_bytes([file[8], file[9]]));
        let header = std::str::from_utf8(&file[10..10 + length]).unwrap();
        assert_eq!((10 + length) % 64, 0);
        assert!(
            header.starts_with("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1, 3,), } "),
            "{header}"
        );
        assert!(header.ends_with(" \n"));
        assert_eq!(file.len(), 10 + length + 24);
        assert_eq!(&file[10 + length + 8..][..4], (-2.5f32).to_le_bytes());
    }
}
