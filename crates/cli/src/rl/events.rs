//! TensorBoard's event files: records of scalars, written without its library.
//!
//! A record is its length (8 bytes), the length's checksum, the data, the data's checksum; checksums are CRC-32C, turned
//! and offset. The data is a protocol buffer `Event`: 1 wall time (double), 2 step (varint), 3 file version (text),
//! 5 summary, whose values (1) have a tag (1, text) and a number (2, float).

/// CRC-32C (Castagnoli), bit by bit: a few hundred bytes a rollout.
fn crc32c(bytes: &[u8]) -> u32 {
    let step = |crc: u32, &b: &u8| {
        (0..8).fold(crc ^ u32::from(b), |c, _| if c & 1 == 1 { c >> 1 ^ 0x82f6_3b78 } else { c >> 1 })
    };
    !bytes.iter().fold(!0, step)
}

fn masked(bytes: &[u8]) -> [u8; 4] {
    crc32c(bytes).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}

fn record(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    [&length[..], &masked(&length), data, &masked(data)].concat()
}

fn varint(mut n: u64, to: &mut Vec<u8>) {
    while n >= 0x80 {
        to.push(n as u8 | 0x80);
        n >>= 7;
    }
    to.push(n as u8);
}

/// A field that has a length: text, bytes or a message.
fn field(number: u8, content: &[u8], to: &mut Vec<u8>) {
    to.push(number << 3 | 2);
    varint(content.len() as u64, to);
    to.extend_from_slice(content);
}

fn event(wall_time: f64, step: u64) -> Vec<u8> {
    let mut event = vec![1 << 3 | 1];
    event.extend(wall_time.to_le_bytes());
    event.push(2 << 3);
    varint(step, &mut event);
    event
}

/// The first record of a file.
pub(super) fn begin(wall_time: f64) -> Vec<u8> {
    let mut first = event(wall_time, 0);
    field(3, b"brain.Event:2", &mut first);
    record(&first)
}

/// Numbers at a step, by name.
pub(super) fn scalars(wall_time: f64, step: u64, values: &[(&str, f64)]) -> Vec<u8> {
    let mut summary = Vec::new();
    for (tag, number) in values {
        let mut value = Vec::new();
        field(1, tag.as_bytes(), &mut value);
        value.push(2 << 3 | 5);
        value.extend((*number as f32).to_le_bytes());
        field(1, &value, &mut summary);
    }
    let mut event = event(wall_time, step);
    field(5, &summary, &mut event);
    record(&event)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_castagnolis() {
        // From RFC 3720, B.4.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
    }

    #[test]
    fn a_record_is_laid_out_as_said() {
        let r = scalars(1.5, 300, &[("a", 2.0)]);
        let n = u64::from_le_bytes(r[..8].try_into().unwrap()) as usize;
        assert_eq!(r.len(), 8 + 4 + n + 4);
        assert_eq!(r[8..12], masked(&r[..8]));
        assert_eq!(r[12 + n..], masked(&r[12..12 + n]));
        let data =
            [9, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 16, 0xac, 2, 42, 10, 10, 8, 10, 1, b'a', 21, 0, 0, 0, 64];
        assert_eq!(r[12..12 + n], data);
    }
}
