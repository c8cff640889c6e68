//! NVIDIA GPUs.
//!
//! A [`Cuda`] is a context, one stream, cuBLAS for the matrix products, and kernels that are compiled when they are first
//! needed. All work goes through the stream, in the order in which it is given, and nothing waits for it but the reading of a
//! tensor: while the GPU computes a step, the processor already gives it the next one. Memory that is no longer needed can be
//! used again at once, since whatever still uses it comes first in the stream.
//!
//! What goes wrong while it runs (no memory left, a kernel that fails) is a panic whose message begins with `cuda: ` and names
//! the kernel and its numbers. With `COUPLET_CUDA_CHECK=1` every launch is waited for, so that the message names the right one.

mod kernels;
mod library;
mod product;
mod rows;

pub(crate) use kernels::{Arg, Kernel, Launch, Record, Source, hash, variant};
pub use kernels::{Compiled, compile_all};
pub(crate) use product::{Factor, SOURCE as PRODUCT, View};
pub(crate) use rows::{DeviceLayout, Indices, Readers};

use crate::device::{Device, DeviceError, Precision};
use crate::memory::Blocks;
use cudarc::driver::{result, sys};
use cudarc::{cublas, driver};
use kernels::Kernels;
use std::cell::Cell;
use std::ffi::c_void;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};

/// Room for cuBLAS to work in, as it asks for on a Hopper.
const WORKSPACE: usize = 32 << 20;

/// A GPU.
pub struct Cuda {
    /// Itself, for blocks that are taken from it.
    own: Weak<Cuda>,
    ordinal: usize,
    name: String,
    /// 90 for a Hopper.
    architecture: i32,
    precision: Precision,
    context: sys::CUcontext,
    stream: sys::CUstream,
    blas: cublas::sys::cublasHandle_t,
    /// Where cuBLAS works.
    _workspace: DeviceBlock,
    kernels: Kernels,
    /// Whether every launch is waited for.
    checked: bool,
    /// Whether all products are treated as large ones.
    all_large: AtomicBool,
    pub(crate) memory: Blocks,
}

// SAFETY: the driver's and cuBLAS's handles may be used from any thread; the calls into cuBLAS, whose handle one thread at a
// time may use, and into the stream come from the thread that runs the operations of a model.
unsafe impl Send for Cuda {}
// SAFETY: as above.
unsafe impl Sync for Cuda {}

thread_local! {
    /// The context that is current on this thread.
    static CURRENT: Cell<sys::CUcontext> = const { Cell::new(std::ptr::null_mut()) };
}

impl Cuda {
    pub(crate) fn open(ordinal: usize, precision: Precision) -> Result<Arc<Cuda>, DeviceError> {
        library::check()?;
        let failed = |error: driver::DriverError| DeviceError {
            message: format!("GPU {ordinal} cannot be used: {error}"),
            hint: "see what nvidia-smi says, or use --device cpu".to_owned(),
        };
        result::init().map_err(failed)?;
        let count = result::device::get_count().map_err(failed)? as usize;
        if ordinal >= count {
            return Err(DeviceError {
                message: format!("there is no GPU {ordinal}: this machine has {count}"),
                hint: "GPUs are counted from 0, and CUDA_VISIBLE_DEVICES hides some; or use --device cpu"
                    .to_owned(),
            });
        }
        let device = result::device::get(ordinal as i32).map_err(failed)?;
        let attribute = |which| {
            // SAFETY: the device is there.
            unsafe { result::device::get_attribute(device, which) }.map_err(failed)
        };
        use sys::CUdevice_attribute_enum::{
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR as MAJOR,
            CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR as MINOR,
        };
        let architecture = attribute(MAJOR)? * 10 + attribute(MINOR)?;
        // SAFETY: the device is there. The context is that of the whole process and is never given back.
        let context = unsafe { result::primary_ctx::retain(device) }.map_err(failed)?;
        // SAFETY: just made.
        unsafe { result::ctx::set_current(context) }.map_err(failed)?;
        CURRENT.set(context);
        let stream = result::stream::create(result::stream::StreamKind::NonBlocking).map_err(failed)?;
        // SAFETY: the block is freed when it is dropped.
        let workspace = unsafe { result::malloc_sync(WORKSPACE) }.map_err(failed)?;
        let workspace =
            DeviceBlock { pointer: Pointer(workspace), length: WORKSPACE / size_of::<f32>(), context };
        let blas = open_blas(stream, &workspace).map_err(|error| DeviceError {
            message: format!("cuBLAS cannot be used on GPU {ordinal}: {error:?}"),
            hint: "its version must fit the driver's, which nvidia-smi prints".to_owned(),
        })?;
        let name = result::device::get_name(device).map_err(failed)?;
        Ok(Arc::new_cyclic(|own| Cuda {
            own: Weak::clone(own),
            ordinal,
            name,
            architecture,
            precision,
            context,
            stream,
            blas,
            _workspace: workspace,
            kernels: Kernels::default(),
            checked: std::env::var_os("COUPLET_CUDA_CHECK").is_some_and(|value| value == "1"),
            all_large: AtomicBool::new(false),
            memory: Blocks::default(),
        }))
    }

    pub(crate) fn precision(&self) -> Precision {
        self.precision
    }

    /// Whether it multiplies matrices of TF32.
    pub(crate) fn has_tensor_cores(&self) -> bool {
        self.architecture >= 80
    }

    /// Treats all products as large ones, or no longer: for tests of small ones.
    pub(crate) fn treat_all_as_large(&self, all: bool) {
        self.all_large.store(all, Ordering::Relaxed);
    }

    pub(crate) fn all_are_large(&self) -> bool {
        self.all_large.load(Ordering::Relaxed)
    }

    fn device(&self) -> Device {
        Device::Cuda(self.own.upgrade().expect("a device is used as long as it is there"))
    }

    /// Makes the context current on this thread.
    fn enter(&self) {
        expect(|| "entering the context".to_owned(), enter(self.context));
    }

    /// Waits until all is done.
    pub(crate) fn synchronize(&self) {
        self.enter();
        // SAFETY: the stream lives as long as this.
        expect(|| "waiting".to_owned(), unsafe { result::stream::synchronize(self.stream) });
    }

    /// Where every launch is waited for, waits: so that a failure is that of `what`.
    fn check(&self, what: impl Fn() -> String) {
        if self.checked {
            // SAFETY: as above.
            expect(what, unsafe { result::stream::synchronize(self.stream) });
        }
    }

    /// Takes a block of so many numbers from the driver; `None` where there is no room.
    pub(crate) fn allocate(&self, length: usize) -> Option<DeviceBlock> {
        self.enter();
        // SAFETY: the block is freed when it is dropped.
        let pointer = match unsafe { result::malloc_sync(length * size_of::<f32>()) } {
            Err(driver::DriverError(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY)) => return None,
            pointer => expect(|| format!("room for {length} numbers"), pointer),
        };
        Some(DeviceBlock { pointer: Pointer(pointer), length, context: self.context })
    }

    /// Sets so many numbers to zero.
    pub(crate) fn zero(&self, to: Pointer, length: usize) {
        if length == 0 {
            return;
        }
        self.enter();
        // SAFETY: the caller's block holds that many numbers, and zero bytes are zeros.
        let done = unsafe { result::memset_d8_async(to.0, 0, length * size_of::<f32>(), self.stream) };
        self.expect_checked("setting memory to zero", done);
    }

    /// Copies numbers or indices to the GPU. They have been read when this returns.
    pub(crate) fn upload<T: Word>(&self, to: Pointer, from: &[T]) {
        if from.is_empty() {
            return;
        }
        self.enter();
        // SAFETY: the caller's block is as long as the slice; from pageable memory the driver reads before it returns.
        let done = unsafe { result::memcpy_htod_async(to.0, from, self.stream) };
        self.expect_checked("copying to the GPU", done);
    }

    /// Copies numbers from the GPU, after all that was to be done before.
    pub(crate) fn download(&self, from: Pointer, to: &mut [f32]) {
        if to.is_empty() {
            return;
        }
        self.enter();
        // SAFETY: the caller's block is as long as the slice, which is not used before the stream has been waited for.
        let done = unsafe { result::memcpy_dtoh_async(to, from.0, self.stream) };
        self.expect_checked("copying from the GPU", done);
        self.synchronize();
    }

    /// Copies numbers from one place to another.
    pub(crate) fn copy(&self, to: Pointer, from: Pointer, length: usize) {
        if length == 0 {
            return;
        }
        self.enter();
        // SAFETY: both of the caller's blocks hold that many numbers.
        let done = unsafe { result::memcpy_dtod_async(to.0, from.0, length * size_of::<f32>(), self.stream) };
        self.expect_checked("copying on the GPU", done);
    }

    fn expect_checked(&self, what: &str, done: Result<(), driver::DriverError>) {
        let what = || what.to_owned();
        expect(what, done);
        self.check(what);
    }
}

fn open_blas(
    stream: sys::CUstream,
    workspace: &DeviceBlock,
) -> Result<cublas::sys::cublasHandle_t, cublas::result::CublasError> {
    let blas = cublas::result::create_handle()?;
    let room = workspace.pointer.0 as *mut c_void;
    // SAFETY: all three have just been made; the workspace is freed after the handle, and nobody else uses it.
    unsafe {
        cublas::result::set_stream(blas, stream.cast())?;
        cublas::sys::cublasSetWorkspace_v2(blas, room, WORKSPACE).result()?;
    }
    Ok(blas)
}

/// Makes a context current on this thread.
fn enter(context: sys::CUcontext) -> Result<(), driver::DriverError> {
    if CURRENT.get() != context {
        // SAFETY: the context of a device is never given back.
        unsafe { result::ctx::set_current(context) }?;
        CURRENT.set(context);
    }
    Ok(())
}

/// Panics where a call failed: with what was to be done.
fn expect<T, E: fmt::Debug>(what: impl Fn() -> String, result: Result<T, E>) -> T {
    result.unwrap_or_else(|error| panic!("cuda: {}: {error:?}", what()))
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // What fails here cannot be mended, and the process mostly ends.
        let _ = enter(self.context);
        // SAFETY: both were made with this, and nobody uses them any more.
        unsafe {
            let _ = cublas::result::destroy_handle(self.blas);
            let _ = result::stream::destroy(self.stream);
        }
    }
}

impl fmt::Debug for Cuda {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cuda:{} ({}, {})", self.ordinal, self.name, self.precision)
    }
}

/// Something of four bytes that a GPU knows.
pub(crate) trait Word: Copy {}
impl Word for f32 {}
impl Word for u32 {}

/// A place in the GPU's memory, from which numbers or indices go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(crate) struct Pointer(u64);

impl Pointer {
    /// Nowhere: what a kernel gets where something is left out.
    pub(crate) const NULL: Pointer = Pointer(0);

    /// Whether four numbers can be read at a time from here.
    pub(crate) fn is_aligned(self) -> bool {
        self.0.is_multiple_of(16)
    }

    /// The address as two words, the lower one first, as a kernel reads it from memory.
    pub(crate) fn words(self) -> [u32; 2] {
        [self.0 as u32, (self.0 >> 32) as u32]
    }

    /// So many numbers on.
    pub(crate) fn at(self, numbers: usize) -> Pointer {
        Pointer(self.0 + (numbers * size_of::<f32>()) as u64)
    }
}

/// A block of the GPU's memory.
pub(crate) struct DeviceBlock {
    pointer: Pointer,
    length: usize,
    context: sys::CUcontext,
}

// SAFETY: a block is an address; whoever uses it does so through the stream.
unsafe impl Send for DeviceBlock {}
// SAFETY: as above.
unsafe impl Sync for DeviceBlock {}

impl DeviceBlock {
    pub(crate) fn pointer(&self) -> Pointer {
        self.pointer
    }

    pub(crate) fn length(&self) -> usize {
        self.length
    }
}

impl Drop for DeviceBlock {
    fn drop(&mut self) {
        let _ = enter(self.context);
        // SAFETY: it was taken from the driver and is freed once. Freeing waits for all work that may use it.
        let _ = unsafe { result::free_sync(self.pointer.0) };
    }
}
