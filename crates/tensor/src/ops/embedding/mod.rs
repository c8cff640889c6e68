//! `y_i = table[id_i]`: a row of the table for each id.
//!
//! | | shape |
//! |---|---|
//! | `table` | vocabulary × width |
//! | `y` | ids × width |
//!
//! Back: each row of `dy` is added to the table's row that it came from; the other rows get nothing. The ids are sorted
//! first, so that a row's sum is formed by one worker, in the order of the ids.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub mod reference;

pub(crate) use cpu::forward as take_rows;

use crate::device::on_device;
use crate::profile;
use crate::tape::{Var, record};

/// A row of the table for each id; see the [module](self).
pub fn embedding(table: &Var, ids: &[u32]) -> Var {
    rows_of("embedding", table, ids)
}

/// The operation, under the name that a profile calls it.
pub(crate) fn rows_of(name: &'static str, table: &Var, ids: &[u32]) -> Var {
    let _span = profile::span(name, table.device());
    let vocabulary = table.rows();
    if let Some(id) = ids.iter().find(|&&id| id as usize >= vocabulary) {
        panic!("id {id} in a table of {vocabulary} rows");
    }
    let y = on_device!(table.device(),
        cpu => cpu::forward(cpu, table.value(), ids),
        cuda => cuda::forward(cuda, table.value(), ids));
    let (table, ids) = (table.clone(), ids.to_vec());
    let [y] = record(&[&table.clone()], [y], move |gradients, [dy]| {
        let Some(dy) = dy else { return };
        on_device!(table.device(),
        cpu => gradients.write(&table, |dtable, update| cpu::backward(cpu, dtable, &ids, &dy, update)),
        cuda => gradients.write_cuda(&table, |dtable, update| {
            cuda::backward(cuda, dtable, table.rows(), &ids, &dy, update);
        }));
    });
    y
}
