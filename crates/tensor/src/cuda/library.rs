//! Whether the libraries of CUDA are there, before anything is called in them.

use crate::device::DeviceError;
use cudarc::{cublas, driver, nvrtc};
use std::path::PathBuf;

/// The oldest CUDA that a driver must support.
const OLDEST: i32 = 12;

/// What each library is, and how it gets onto a machine.
const DRIVER: (&str, &str) =
    ("libcuda (the NVIDIA driver)", "install the NVIDIA driver, or use --device cpu");
const CUBLAS: (&str, &str) = ("libcublas", "install the CUDA toolkit, or put its lib64 into LD_LIBRARY_PATH");
const NVRTC: (&str, &str) = ("libnvrtc", "install the CUDA toolkit, or put its lib64 into LD_LIBRARY_PATH");

/// An error for the first library that is missing or too old.
pub(super) fn check() -> Result<(), DeviceError> {
    // SAFETY: looking for a library runs its initializers, which those of CUDA are made for.
    let driver = unsafe { driver::sys::is_culib_present() };
    require(driver, DRIVER)?;
    check_driver_version()?;
    // SAFETY: as above.
    require(find("cublas", || unsafe { cublas::sys::is_culib_present() }), CUBLAS)?;
    check_compiler()
}

/// An error where kernels cannot be compiled. That needs no GPU and no driver.
pub(super) fn check_compiler() -> Result<(), DeviceError> {
    // SAFETY: as above.
    require(find("nvrtc", || unsafe { nvrtc::sys::is_culib_present() }), NVRTC)
}

fn require(present: bool, (library, hint): (&str, &str)) -> Result<(), DeviceError> {
    let missing =
        || DeviceError { message: format!("{library} is not on this machine"), hint: hint.to_owned() };
    present.then_some(()).ok_or_else(missing)
}

fn check_driver_version() -> Result<(), DeviceError> {
    let mut version = 0;
    // SAFETY: the library is there, and the call only writes the number.
    let result = unsafe { driver::sys::cuDriverGetVersion(&raw mut version) };
    if result == driver::sys::CUresult::CUDA_SUCCESS && version / 1000 >= OLDEST {
        return Ok(());
    }
    Err(DeviceError {
        message: format!(
            "the NVIDIA driver supports CUDA {}.{}; at least {OLDEST}.0 is needed",
            version / 1000,
            version % 1000 / 10
        ),
        hint: "update the NVIDIA driver, or use --device cpu".to_owned(),
    })
}

/// Whether a library is there, if need be in a place where the system does not look.
fn find(name: &str, is_present: impl Fn() -> bool) -> bool {
    is_present() || (load_from_usual_places(name) && is_present())
}

/// Loads a library from where toolkits install it. Once it is loaded, it is found by its name as well.
fn load_from_usual_places(name: &str) -> bool {
    let homes = ["CUDA_HOME", "CUDA_PATH"].map(|key| std::env::var_os(key).map(PathBuf::from));
    let homes = homes.into_iter().flatten().chain([PathBuf::from("/usr/local/cuda")]);
    for folder in homes.map(|home| home.join("lib64")) {
        for version in [13, 12] {
            let path = folder.join(format!("lib{name}.so.{version}"));
            // SAFETY: as in `check`.
            if let Ok(library) = unsafe { libloading::Library::new(&path) } {
                // It must stay loaded to be found.
                std::mem::forget(library);
                return true;
            }
        }
    }
    false
}
