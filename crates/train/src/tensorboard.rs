//! Event files that TensorBoard reads.
//!
//! A file is a row of records, TFRecords: the length of the data as 8 bytes, a masked CRC-32C of these, the data, and a masked CRC-32C
//! of it. The data is a protocol buffer, an `Event` with a wall time (field 1, a double), a step (field 2) and either the version of the
//! format (field 3, a text) or a summary (field 5) of values (field 1), each with a tag (field 1, a text) and a number (field 2, a float).

use crate::event::{Event, MetricValue};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// A file of events.
#[derive(Debug)]
pub(crate) struct EventFile(File);

impl EventFile {
    /// Begins a file in a folder. TensorBoard joins the files of a folder by their steps.
    pub(crate) fn create(folder: &Path) -> io::Result<EventFile> {
        fs::create_dir_all(folder)?;
        let now = now();
        let name = format!("events.out.tfevents.{}.{}.couplet", now as u64, std::process::id());
        let mut file = File::create(folder.join(name))?;
        file.write_all(&first_record(now))?;
        Ok(EventFile(file))
    }

    /// Writes the numbers of an event, where it has any.
    pub(crate) fn write(&mut self, said: &Event) -> io::Result<()> {
        match record_of(said, now()) {
            Some(record) => self.0.write_all(&record),
            None => Ok(()),
        }
    }
}

/// What a file begins with: the version of the format.
fn first_record(time: f64) -> Vec<u8> {
    let mut version = event(time, 0);
    text(&mut version, 3, "brain.Event:2");
    record(&version)
}

/// The record of an event; none where it has no numbers.
fn record_of(said: &Event, time: f64) -> Option<Vec<u8>> {
    let (step, numbers) = numbers(said);
    (!numbers.is_empty()).then(|| record(&summary(time, step, &numbers)))
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// The numbers of an event by their tags, and its step.
fn numbers(said: &Event) -> (u64, Vec<(&'static str, f32)>) {
    match said {
        Event::Update { update, loss, learning_rate: rate, grad_norm: norm, tokens_per_second, .. } => {
            let speed = *tokens_per_second as f32;
            let numbers = vec![
                ("train/loss", *loss as f32),
                ("train/rate", *rate),
                ("train/norm", *norm),
                ("train/tokens_per_second", speed),
            ];
            (*update, numbers)
        }
        Event::Validation { update, loss, figure, bleu, .. } => {
            let figure = match figure {
                MetricValue::Perplexity(perplexity) => ("valid/perplexity", *perplexity as f32),
                MetricValue::Accuracy(percent) => ("valid/accuracy", *percent as f32),
            };
            let bleu = bleu.map(|bleu| ("valid/bleu", bleu as f32));
            (*update, [("valid/loss", *loss as f32), figure].into_iter().chain(bleu).collect())
        }
        _ => (0, Vec::new()),
    }
}

/// An event with its first two fields.
fn event(time: f64, step: u64) -> Vec<u8> {
    let mut bytes = vec![1 << 3 | 1];
    bytes.extend(time.to_le_bytes());
    bytes.push(2 << 3);
    varint(&mut bytes, step);
    bytes
}

fn summary(time: f64, step: u64, numbers: &[(&str, f32)]) -> Vec<u8> {
    let mut values = Vec::new();
    for (tag, number) in numbers {
        let mut value = Vec::new();
        text(&mut value, 1, tag);
        value.push(2 << 3 | 5);
        value.extend(number.to_le_bytes());
        bytes_field(&mut values, 1, &value);
    }
    let mut event = event(time, step);
    bytes_field(&mut event, 5, &values);
    event
}

fn text(bytes: &mut Vec<u8>, field: u8, text: &str) {
    bytes_field(bytes, field, text.as_bytes());
}

fn bytes_field(bytes: &mut Vec<u8>, field: u8, content: &[u8]) {
    bytes.push(field << 3 | 2);
    varint(bytes, content.len() as u64);
    bytes.extend(content);
}

/// Seven bits a byte, the lowest first; all but the last have their highest bit set.
fn varint(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

fn record(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    [&length[..], &masked(&length), data, &masked(data)].concat()
}

/// TFRecord's checksum: rotated and shifted, so that a checksum over checksums is none of a usual kind.
fn masked(data: &[u8]) -> [u8; 4] {
    crc32c::crc32c(data).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 300 = 2·128 + 44: the lower seven bits, 44, with a mark that more follow, and then 2.
    #[test]
    fn long_numbers_by_hand() {
        let mut bytes = Vec::new();
        varint(&mut bytes, 300);
        assert_eq!(bytes, [44 | 0x80, 2]);
    }

    /// Field 1 as a double, field 2 as a number, field 5 with one value of 5 + 5 bytes: tag "abc" and 1.0, which is 0x3f800000.
    #[test]
    fn an_event_by_hand() {
        let bytes = summary(0.0, 7, &[("abc", 1.0)]);
        let head = [9, 0, 0, 0, 0, 0, 0, 0, 0, 16, 7];
        let value = [0x2a, 12, 0x0a, 10, 0x0a, 3, b'a', b'b', b'c', 0x15, 0, 0, 0x80, 0x3f];
        assert_eq!(bytes, [&head[..], &value].concat());
    }

    /// The file of the fixture, which the tensorboard package has read: these bytes, and these numbers.
    #[test]
    fn tensorboard_reads_what_was_written() {
        let step = |update: u64| Event::Update {
            update,
            epoch: 0.5,
            loss: 4.0 / update as f64,
            learning_rate: 0.001,
            grad_norm: 1.5,
            tokens_per_second: 1000.0 + update as f64,
            seconds: 1.0,
        };
        let validation = |figure, bleu| Event::Validation {
            update: 300,
            loss: 2.25,
            figure,
            bleu,
            best: true,
            duration: 0.5,
            seconds: 2.0,
        };
        let said = [
            step(10),
            step(300),
            validation(MetricValue::Perplexity(9.5), Some(12.5)),
            validation(MetricValue::Accuracy(50.0), None),
            Event::Checkpoint { update: 300, duration: 0.1 },
        ];
        let records = said.iter().enumerate().filter_map(|(i, said)| record_of(said, 1000.0 + i as f64));
        let bytes: Vec<u8> = std::iter::once(first_record(1000.0)).chain(records).flatten().collect();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/tensorboard/");
        let read = |name: &str| {
            fs::read(format!("{folder}{name}")).unwrap_or_else(|error| panic!("{name}: {error}"))
        };
        assert!(bytes == read("events.out.tfevents.couplet"), "the file that tensorboard has read");

        let seen: serde_json::Value = serde_json::from_slice(&read("events.json")).unwrap();
        let scalars = |tag: &str| -> Vec<[f32; 3]> {
            let scalars = seen[tag].as_array().unwrap();
            let of = |scalar: &serde_json::Value| std::array::from_fn(|i| scalar[i].as_f64().unwrap() as f32);
            scalars.iter().map(of).collect()
        };
        assert_eq!(scalars("train/loss"), [[1000.0, 10.0, 0.4], [1001.0, 300.0, 4.0 / 300.0]]);
        assert_eq!(scalars("valid/loss"), [[1002.0, 300.0, 2.25], [1003.0, 300.0, 2.25]]);
        assert_eq!(scalars("valid/bleu"), [[1002.0, 300.0, 12.5]]);
        let tags: Vec<&String> = seen.as_object().unwrap().keys().collect();
        assert_eq!(tags.len(), 8, "{tags:?}");
    }

    /// CRC-32C of "123456789" is 0xe3069283. Rotated by 15 to the right it is 0x2507c60d, and with the constant 0xc78ab0e5.
    #[test]
    fn a_checksum_by_hand() {
        assert_eq!(crc32c::crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(masked(b"123456789"), 0xc78a_b0e5u32.to_le_bytes());
    }
}
