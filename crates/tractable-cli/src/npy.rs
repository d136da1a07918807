//! NumPy's array files: f32, in C order, little-endian.

use std::io::{self, Write};

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

#[cfg(test)]
mod tests {
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
