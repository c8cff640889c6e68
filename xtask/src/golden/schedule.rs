//! Which cases are run, and in which order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, bail};

use super::cases::{Case, CaseFile};
use super::runner::{CaseValues, Program};

/// A case with its file.
pub(crate) type Chosen<'a> = (&'a CaseFile, &'a Case);

/// The cases whose names contain one of `only`, all where it is empty, with those that they need: in groups, each of which needs only
/// those before it.
pub(crate) fn chosen<'a>(files: &'a [CaseFile], only: &[String]) -> Result<Vec<Vec<Chosen<'a>>>> {
    let mut all: BTreeMap<&str, Chosen<'_>> = BTreeMap::new();
    let cases = || files.iter().flat_map(|file| file.cases.iter().map(move |case| (file, case)));
    for (file, case) in cases() {
        if all.insert(&case.name, (file, case)).is_some() {
            bail!("there are two cases \"{}\"", case.name);
        }
    }
    let mut groups: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, case) in cases() {
        if only.is_empty() || only.iter().any(|part| case.name.contains(part)) {
            place(&case.name, &all, &mut groups, 0)?;
        }
    }
    let count = groups.values().max().map_or(0, |group| group + 1);
    let of_group = |group| cases().filter(|(_, case)| groups.get(&case.name[..]) == Some(&group)).collect();
    Ok((0..count).map(of_group).collect())
}

/// Puts a case behind those that it needs, and returns its group.
fn place<'a>(
    name: &str,
    all: &BTreeMap<&'a str, Chosen<'a>>,
    groups: &mut BTreeMap<&'a str, usize>,
    depth: usize,
) -> Result<usize> {
    if let Some(&group) = groups.get(name) {
        return Ok(group);
    }
    let (name, (file, case)) =
        all.get_key_value(name).with_context(|| format!("there is no case \"{name}\""))?;
    if depth > all.len() {
        bail!("case {name}: it needs itself");
    }
    let mut group = 0;
    for needed in file.needs(case)? {
        group = group.max(place(&needed, all, groups, depth + 1)? + 1);
    }
    groups.insert(name, group);
    Ok(group)
}

/// Runs groups of cases one after another, so many cases of a group at a time. A case that fails has an error instead of values.
pub(crate) fn run<'a>(
    program: &Program,
    groups: &[Vec<Chosen<'a>>],
    jobs: usize,
) -> Vec<(&'a Case, Result<CaseValues>)> {
    let done = Mutex::new(Vec::new());
    for group in groups {
        let next = AtomicUsize::new(0);
        let work = || {
            while let Some((file, case)) = group.get(next.fetch_add(1, Ordering::Relaxed)) {
                let values = program.run(file, case);
                done.lock().unwrap_or_else(PoisonError::into_inner).push((*case, values));
            }
        };
        thread::scope(|scope| {
            for _ in 0..jobs {
                scope.spawn(work);
            }
        });
    }
    done.into_inner().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(only: &[&str]) -> Result<Vec<Vec<String>>> {
        let file: CaseFile = toml::from_str(
            "case = [
                { name = 'c', commands = { run = 'x {cases}/b/model' } },
                { name = 'a' },
                { name = 'b', same_as = { case = 'a' } },
                { name = 'd' },
                { name = 'loop', same_as = { case = 'loop' } },
            ]",
        )?;
        let files = [file];
        let only: Vec<String> = only.iter().map(ToString::to_string).collect();
        let groups = chosen(&files, &only)?;
        Ok(groups.iter().map(|group| group.iter().map(|(_, case)| case.name.clone()).collect()).collect())
    }

    #[test]
    fn a_case_comes_after_those_that_it_needs() {
        assert_eq!(names(&["a", "b", "c", "d"]).unwrap(), [vec!["a", "d"], vec!["b"], vec!["c"]]);
        assert_eq!(names(&["c"]).unwrap(), [["a"], ["b"], ["c"]]);
    }

    #[test]
    fn a_case_that_needs_itself_is_named() {
        let error = names(&["loop"]).unwrap_err().to_string();
        assert_eq!(error, "case loop: it needs itself");
    }
}
