//! Every kernel compiles, for old and new GPUs. It needs NVRTC alone: a machine without a GPU can have it.

#![cfg(feature = "cuda")]

use couplet_tensor::cuda::compile_all;

/// Set where NVRTC must be found: so that this cannot pass by finding nothing to compile with.
const REQUIRED: &str = "COUPLET_NVRTC_REQUIRED";

#[test]
fn every_kernel_compiles() {
    for architecture in [75, 80, 90] {
        match compile_all(architecture) {
            Ok(compiled) => assert!(compiled.iter().all(|source| source.bytes > 0), "{compiled:?}"),
            Err(error) => {
                let missing = error.to_string().contains("libnvrtc is not on this machine");
                assert!(missing && std::env::var_os(REQUIRED).is_none(), "{error}");
            }
        }
    }
}
