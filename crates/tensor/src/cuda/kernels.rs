//! Kernels: compiled when they are first needed, kept on disk, launched.
//!
//! The source of a kernel is a `.cu` file beside the operation that it belongs to. Where it is generic over a cell or a score,
//! the functions of that cell or score stand before it, written by [`Symbol`](crate::lane::Symbol)s.

use super::{Cuda, Pointer, expect, library};
use crate::device::DeviceError;
use cudarc::driver::{result, sys};
use cudarc::nvrtc;
use std::any::TypeId;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_void};
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// What every kernel may use.
const PRELUDE: &str = include_str!("prelude.cu");

/// Threads of a block, where nothing speaks for another number.
pub(crate) const THREADS: usize = 256;
/// More blocks than this walk over their numbers in strides.
const MOST_BLOCKS: usize = 4096;

/// The source of some kernels.
pub(crate) struct Source<'a> {
    /// What it computes, for messages.
    pub(crate) name: &'static str,
    /// The `.cu` file.
    pub(crate) text: &'static str,
    /// Tells the generated parts of the same file apart.
    pub(crate) variant: u64,
    /// Writes the generated part.
    pub(crate) generate: &'a dyn Fn() -> String,
}

impl Source<'static> {
    /// One that is not generic.
    pub(crate) const fn plain(name: &'static str, text: &'static str) -> Source<'static> {
        Source { name, text, variant: 0, generate: &String::new }
    }
}

impl Source<'_> {
    pub(crate) fn whole(&self) -> String {
        [PRELUDE, &(self.generate)(), self.text].join("\n")
    }
}

/// A number for a type, by which its kernels are told from those of another.
pub(crate) fn variant<T: 'static>() -> u64 {
    hash(&TypeId::of::<T>())
}

pub(crate) fn hash(of: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// A kernel that can be launched.
#[derive(Clone, Copy)]
pub(crate) struct Kernel {
    function: sys::CUfunction,
    name: &'static str,
}

/// The kernels that have been loaded: by file, variant and name.
#[derive(Default)]
pub(super) struct Kernels {
    modules: Mutex<HashMap<(&'static str, u64), Module>>,
}

struct Module {
    handle: sys::CUmodule,
    functions: Vec<Kernel>,
}

// SAFETY: a module's handle may be used from any thread.
unsafe impl Send for Module {}

/// An argument of a kernel.
#[derive(Clone, Copy)]
pub(crate) enum Arg<'a> {
    /// A pointer, a whole number or a number: its bytes come first, as the machine is little-endian.
    Word(u64),
    /// A struct, laid out as in C.
    Record(&'a dyn Record),
}

/// A struct that a kernel takes by value; it must be `repr(C)`.
pub(crate) trait Record: fmt::Debug {}

impl From<Pointer> for Arg<'_> {
    fn from(pointer: Pointer) -> Self {
        Arg::Word(pointer.0)
    }
}

impl From<Option<Pointer>> for Arg<'_> {
    fn from(pointer: Option<Pointer>) -> Self {
        pointer.unwrap_or(Pointer::NULL).into()
    }
}

impl From<usize> for Arg<'_> {
    fn from(number: usize) -> Self {
        let number = i32::try_from(number).unwrap_or_else(|_| panic!("cuda: {number} numbers are too many"));
        Arg::Word(u64::from(number as u32))
    }
}

impl From<bool> for Arg<'_> {
    fn from(flag: bool) -> Self {
        Arg::Word(u64::from(flag))
    }
}

impl From<u32> for Arg<'_> {
    fn from(word: u32) -> Self {
        Arg::Word(u64::from(word))
    }
}

impl From<f32> for Arg<'_> {
    fn from(number: f32) -> Self {
        Arg::Word(u64::from(number.to_bits()))
    }
}

impl<'a, R: Record> From<&'a R> for Arg<'a> {
    fn from(record: &'a R) -> Self {
        Arg::Record(record)
    }
}

impl fmt::Debug for Arg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Arg::Word(word) if *word <= i32::MAX as u64 => write!(f, "{word}"),
            Arg::Word(word) => write!(f, "{word:#x}"),
            Arg::Record(record) => record.fmt(f),
        }
    }
}

/// How many blocks of how many threads, and how many bytes the threads of a block share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Launch {
    pub(crate) blocks: [usize; 2],
    pub(crate) threads: [usize; 2],
    pub(crate) shared: usize,
}

impl Launch {
    /// A thread for each of so many numbers, or for every so many-th of them.
    pub(crate) fn over(numbers: usize) -> Launch {
        Launch::blocks(numbers.div_ceil(THREADS).clamp(1, MOST_BLOCKS))
    }

    /// So many blocks.
    pub(crate) fn blocks(blocks: usize) -> Launch {
        Launch { blocks: [blocks, 1], threads: [THREADS, 1], shared: 0 }
    }
}

impl Drop for Kernels {
    fn drop(&mut self) {
        let modules = self.modules.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (_, module) in modules.drain() {
            // SAFETY: the device goes, and with it all that could launch its kernels. What fails leaks a little memory.
            let _ = unsafe { result::module::unload(module.handle) };
        }
    }
}

impl Cuda {
    /// A kernel of a source; it is compiled where that has not been done before.
    pub(crate) fn kernel(&self, source: &Source, name: &'static str) -> Kernel {
        self.enter();
        let mut modules = self.kernels.modules.lock().unwrap_or_else(PoisonError::into_inner);
        let module = modules.entry((source.name, source.variant)).or_insert_with(|| {
            let handle = self.load(source);
            Module { handle, functions: Vec::new() }
        });
        if let Some(&kernel) = module.functions.iter().find(|kernel| kernel.name == name) {
            return kernel;
        }
        let of_c = CString::new(name).expect("no kernel's name holds a zero");
        // SAFETY: the module is loaded, and stays so as long as the device is there.
        let function = unsafe { result::module::get_function(module.handle, of_c) };
        let function = expect(|| format!("kernel {name}"), function);
        let kernel = Kernel { function, name };
        module.functions.push(kernel);
        kernel
    }

    /// Allows a kernel so many bytes of shared memory, which may be more than the usual 48 KiB.
    pub(crate) fn with_shared(&self, kernel: Kernel, bytes: usize) -> Kernel {
        let most = sys::CUfunction_attribute_enum::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: the function is loaded.
        let set = unsafe { result::function::set_function_attribute(kernel.function, most, bytes as i32) };
        expect(|| format!("{bytes} bytes of shared memory for kernel {}", kernel.name), set);
        kernel
    }

    /// From the cache on disk or, where that has none that can be loaded, compiled.
    fn load(&self, source: &Source) -> sys::CUmodule {
        let text = source.whole();
        let kept = cache_file(&text, self.architecture);
        let load = |code: &[u8]| {
            // SAFETY: the driver checks the code, and refuses what is not for this GPU.
            unsafe { result::module::load_data(code.as_ptr().cast::<c_void>()) }
        };
        if let Some(code) = kept.as_deref().and_then(read_kept)
            && let Ok(module) = load(&code)
        {
            return module;
        }
        let code = compile(source.name, &text, self.architecture).unwrap_or_else(|log| panic!("cuda: {log}"));
        if let Some(path) = &kept {
            keep(path, &code);
        }
        expect(|| format!("loading the kernels of {}", source.name), load(&code))
    }

    /// Gives a kernel to the stream.
    ///
    /// # Safety
    /// The arguments must be those that the kernel takes, and the blocks that its pointers lead to must be as long as it
    /// assumes.
    pub(crate) unsafe fn launch(&self, kernel: Kernel, how: Launch, arguments: &[Arg]) {
        let mut pointers = [std::ptr::null_mut::<c_void>(); 32];
        assert!(arguments.len() <= pointers.len(), "{} arguments", arguments.len());
        for (pointer, argument) in pointers.iter_mut().zip(arguments) {
            *pointer = match argument {
                Arg::Word(word) => std::ptr::from_ref(word).cast_mut().cast(),
                Arg::Record(record) => std::ptr::from_ref(*record).cast_mut().cast(),
            };
        }
        let [x, y] = how.blocks.map(|blocks| blocks as u32);
        if x == 0 || y == 0 {
            return;
        }
        self.enter();
        let [columns, rows] = how.threads.map(|threads| threads as u32);
        // SAFETY: the caller vouches for the arguments; the driver copies them before it returns.
        let launched = unsafe {
            result::launch_kernel(
                kernel.function,
                (x, y, 1),
                (columns, rows, 1),
                how.shared as u32,
                self.stream,
                &mut pointers[..arguments.len()],
            )
        };
        let what = || format!("kernel {} with {how:?} and {arguments:?}", kernel.name);
        expect(what, launched);
        self.check(what);
    }
}

/// Compiles a source for an architecture; an error is the compiler's log.
fn compile(name: &str, text: &str, architecture: i32) -> Result<Vec<u8>, String> {
    let source = CString::new(text).map_err(|_| format!("kernels of {name}: a zero in the source"))?;
    let file = CString::new(format!("{name}.cu")).map_err(|_| "a zero in a name".to_owned())?;
    let failed = |error| format!("kernels of {name}: {error}");
    let program = nvrtc::result::create_program(&source, Some(&file)).map_err(failed)?;
    let options = [format!("--gpu-architecture=sm_{architecture}"), "--std=c++17".to_owned()];
    // SAFETY: the program was made above and is destroyed below.
    let compiled = unsafe { nvrtc::result::compile_program(program, &options) };
    let code = match compiled {
        Ok(()) => machine_code(program).map_err(failed),
        Err(error) => Err(format!("kernels of {name} for sm_{architecture}: {error}\n{}", log(program))),
    };
    // SAFETY: nobody uses the program any more; what fails here leaks a little memory.
    let _ = unsafe { nvrtc::result::destroy_program(program) };
    code
}

fn machine_code(program: nvrtc::sys::nvrtcProgram) -> Result<Vec<u8>, nvrtc::result::NvrtcError> {
    let mut size = 0;
    // SAFETY: the program has been compiled, and the code gets as much room as it needs.
    unsafe {
        nvrtc::sys::nvrtcGetCUBINSize(program, &raw mut size).result()?;
        let mut code = vec![0u8; size];
        nvrtc::sys::nvrtcGetCUBIN(program, code.as_mut_ptr().cast()).result()?;
        Ok(code)
    }
}

fn log(program: nvrtc::sys::nvrtcProgram) -> String {
    // SAFETY: the program is there, and the log ends with a zero.
    match unsafe { nvrtc::result::get_program_log(program) } {
        // SAFETY: as above.
        Ok(log) => unsafe { CStr::from_ptr(log.as_ptr()) }.to_string_lossy().into_owned(),
        Err(_) => String::new(),
    }
}

/// Where compiled code is kept: by what it was compiled from, by what and for what. None where there is no home.
fn cache_file(text: &str, architecture: i32) -> Option<PathBuf> {
    let base = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))?;
    let (mut major, mut minor) = (0, 0);
    // SAFETY: the library is there, and the call only writes the two numbers.
    let _ = unsafe { nvrtc::sys::nvrtcVersion(&raw mut major, &raw mut minor) };
    let key = hash(&(text, architecture, major, minor));
    Some(base.join("couplet").join("kernels").join(format!("{key:016x}.cubin")))
}

/// The code of a file that ends with the code's hash: half of a file is not loaded.
fn read_kept(path: &Path) -> Option<Vec<u8>> {
    let bytes = std::fs::read(path).ok()?;
    let (code, check) = bytes.split_last_chunk::<8>()?;
    (hash(&code).to_le_bytes() == *check).then(|| code.to_vec())
}

/// Keeps compiled code for the next run. A disk that is full or read-only costs only the time to compile again.
fn keep(path: &Path, code: &[u8]) {
    let Some(folder) = path.parent() else { return };
    let temporary = path.with_extension(format!("{}.tmp", std::process::id()));
    let bytes = [code, &hash(&code).to_le_bytes()].concat();
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&temporary, bytes))
        .and_then(|()| std::fs::rename(&temporary, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&temporary);
    }
}

/// A source that was compiled.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// What it computes.
    pub name: &'static str,
    /// Bytes of machine code.
    pub bytes: usize,
}

/// Compiles every kernel for an architecture, 90 for a Hopper. It needs the compiler alone, no GPU: so that a mistake in a
/// kernel is found on any machine.
pub fn compile_all(architecture: i32) -> Result<Vec<Compiled>, DeviceError> {
    library::check_compiler()?;
    let failed = |log| DeviceError { message: log, hint: "mend the kernel".to_owned() };
    let compile_one = |(name, text): (&'static str, String)| {
        let code = compile(name, &text, architecture).map_err(failed)?;
        Ok(Compiled { name, bytes: code.len() })
    };
    crate::ops::all_kernels().into_iter().map(compile_one).collect()
}
