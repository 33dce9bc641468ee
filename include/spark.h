/* SPDX-License-Identifier: Apache-2.0 */
/* spark.h: the whole public C API of libspark.
 *
 * Kernels for consumer Blackwell GPUs (compute capability 12.0 and 12.1) behind one C99 ABI.
 * Link with `pkg-config --libs libspark`, or dlopen libspark.so.0. The only other run-time library is the
 * NVIDIA driver's libcuda.so.1, opened when first needed; LIBSPARK_DRIVER=emu selects the emulator instead.
 *
 * The rules that hold for every call
 *
 *   Structures  Fill with zeros, set struct_size to sizeof, set what you need: zero is the default of every field.
 *               Where a scalar's usual value is another number, 0 stands for that (its comment says so), unless
 *               hdr.given marks it: then 0 is 0.
 *               A shorter struct_size (an older header) is read as if the rest were zero. A longer one (a newer
 *               header) is accepted while the bytes this library does not know are zero. None that you fill holds
 *               a pointer: device addresses, streams and graphs are 64-bit integers. reserved fields must be 0.
 *   Errors      A call that can fail returns a status and takes `spark_error *err` last, which may be NULL.
 *               A failed call leaves its outputs untouched and err->message says which argument was wrong,
 *               the value found and the value wanted.
 *   Threads     Every function may be called from any thread, on one context, at the same time. What destroys
 *               a context, stream, event or graph waits for the calls that are using it; later ones are refused.
 *               Two launches that share one workspace must be ordered by the caller. After fork() the child may
 *               only call spark_version and the name functions.
 *   Memory      The library never allocates device memory by itself. Tensors and workspace belong to the caller
 *               and must live until the work on the stream has finished. Structures may be reused on return.
 *   Streams     0 and 1: the legacy default stream of the context. 2: the per-thread default stream.
 *               Any other value: a handle from spark_stream_create, or a CUstream of other software as an integer.
 *   Handles     Contexts, streams, events and graphs of this library are numbers that no address is, and none is
 *               given twice. One that was destroyed, is of another kind or context, or was never given, is refused
 *               with SPARK_ERR_INVALID_HANDLE. Of a CUstream or CUevent the library cannot tell whether it lives.
 */
#ifndef SPARK_H_
#define SPARK_H_

#include <stddef.h>
#include <stdint.h>

#define SPARK_VERSION_MAJOR 0
#define SPARK_VERSION_MINOR 1
#define SPARK_VERSION_PATCH 0
#define SPARK_ABI 0 /* the number in the SONAME: counts breaks of the ABI, not releases */

#ifndef SPARK_API
#if defined(__GNUC__)
#define SPARK_API __attribute__((visibility("default")))
#else
#define SPARK_API
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- scalar types ----------------------------------------------------------------------------------------- */

typedef uint64_t spark_devptr; /* a device address; 0 = none */
typedef uint64_t spark_stream; /* see "Streams" above */
typedef uint64_t spark_event;  /* from spark_event_create, or a CUevent of other software as an integer */
typedef uint64_t spark_graph;  /* from spark_graph_end */

/* The result of a call. Thousands are the category, the rest is the reason; values are never renumbered. */
typedef enum spark_status {
    SPARK_OK = 0,

    SPARK_ERR_INVALID = 1000,             /* 1000: the caller's mistake */
    SPARK_ERR_INVALID_NULL = 1001,        /* a required pointer, tensor or device address is missing */
    SPARK_ERR_INVALID_HANDLE = 1002,      /* not a live context, stream, event or graph, or one of another context */
    SPARK_ERR_INVALID_STRUCT_SIZE = 1003, /* struct_size is 0, too small, too large, or the unknown tail is not zero */
    SPARK_ERR_INVALID_RESERVED = 1004,    /* a reserved field, an unknown flag or an unused field is not zero */
    SPARK_ERR_INVALID_SHAPE = 1005,       /* rank, dimension, or disagreement between two shapes */
    SPARK_ERR_INVALID_STRIDE = 1006,      /* negative, zero where not allowed, or an output that overlaps itself */
    SPARK_ERR_INVALID_DTYPE = 1007,       /* not a dtype, or two dtypes that must be equal are not */
    SPARK_ERR_INVALID_ALIGNMENT = 1008,   /* an address is not a multiple of what is needed */
    SPARK_ERR_INVALID_OVERLAP = 1009,     /* an output or the workspace shares bytes with a tensor */
    SPARK_ERR_INVALID_BOUNDS = 1010,      /* size_bytes is smaller than what shape and strides reach */
    SPARK_ERR_INVALID_DEVICE = 1011,      /* no such device, or a CUstream of another CUcontext */
    SPARK_ERR_WORKSPACE_TOO_SMALL = 1012, /* see spark_op_info.workspace_size */
    SPARK_ERR_BUFFER_TOO_SMALL = 1013,    /* a host buffer is too small; the needed size has been written */
    SPARK_ERR_INVALID_VALUE = 1014,       /* a scalar, an enum or a kernel id is outside its range */
    SPARK_ERR_INVALID_CAPTURE = 1015,     /* not allowed while a stream captures; no such capture where one is needed */

    SPARK_ERR_UNSUPPORTED = 2000,        /* 2000: meaningful, but this library does not do it */
    SPARK_ERR_UNSUPPORTED_OP = 2001,     /* unknown operator number */
    SPARK_ERR_UNSUPPORTED_ARCH = 2002,   /* the device is not of compute capability 12.0, 12.1 (or 9.0, for testing) */
    SPARK_ERR_UNSUPPORTED_DTYPE = 2003,  /* no kernel for this dtype */
    SPARK_ERR_UNSUPPORTED_SHAPE = 2004,  /* no kernel for this size */
    SPARK_ERR_UNSUPPORTED_LAYOUT = 2005, /* no kernel for these strides */
    SPARK_ERR_UNSUPPORTED_DRIVER = 2006, /* the driver is too old: a function that is needed is missing */
    SPARK_ERR_NOT_PREPARED = 2007,       /* the stream is capturing and the kernel is not loaded: spark_op_prepare */

    SPARK_ERR_NO_DRIVER = 3000,     /* 3000: the environment. No driver library could be opened */
    SPARK_ERR_NO_DEVICE = 3001,     /* a driver, but no device */
    SPARK_ERR_DRIVER = 3002,        /* the driver refused; see driver_code */
    SPARK_ERR_LAUNCH = 3003,        /* work on the device failed, now or before; see driver_code */
    SPARK_ERR_DEVICE_MEMORY = 3004, /* the device has not that much memory left */

    SPARK_ERR_HOST_MEMORY = 4000, /* 4000: inside. The host is out of memory */
    SPARK_ERR_INTERNAL = 4001,    /* a defect of this library */

    SPARK_STATUS_FORCE32 = 0x7fffffff
} spark_status;

/* Element types. All values fit a 64-bit mask (spark_field.dtype_mask). */
/* specgen dtypes begin: from src/core/formats.toml */
typedef enum spark_dtype {
    SPARK_DTYPE_NONE = 0,
    SPARK_DTYPE_F32 = 1,
    SPARK_DTYPE_F16 = 2,
    SPARK_DTYPE_BF16 = 3,
    SPARK_DTYPE_F64 = 4,
    SPARK_DTYPE_TF32 = 5, /* four bytes, rounded to TF32 when read */
    SPARK_DTYPE_I8 = 16,
    SPARK_DTYPE_U8 = 17,
    SPARK_DTYPE_I32 = 18,
    SPARK_DTYPE_U32 = 19,
    SPARK_DTYPE_I64 = 20,
    SPARK_DTYPE_U64 = 21,
    SPARK_DTYPE_BOOL8 = 22, /* one byte, 0 or 1 */
    SPARK_DTYPE_I4 = 23,    /* two per byte, low nibble first; so are U4 and E2M1 */
    SPARK_DTYPE_U4 = 24,
    SPARK_DTYPE_NF4 = 25,  /* a place in a table of 16 numbers, two per byte, high nibble first */
    SPARK_DTYPE_E4M3 = 32, /* FP8, largest 448, no infinity */
    SPARK_DTYPE_E5M2 = 33, /* FP8, largest 57344 */
    SPARK_DTYPE_E2M1 = 34, /* FP4 */
    SPARK_DTYPE_E2M3 = 35, /* FP6, four in three bytes, low bits first; so is E3M2 */
    SPARK_DTYPE_E3M2 = 36,
    SPARK_DTYPE_UE8M0 = 37,  /* a power of two, as a scale */
    SPARK_DTYPE_UE4M3 = 38,  /* E4M3 used as a scale, never negative */
    SPARK_DTYPE_I2F6 = 39,   /* two's complement with six bits behind the point: q / 64 */
    SPARK_DTYPE_DEVPTR = 48, /* a device address: lists of tensors, peer buffers */
    SPARK_DTYPE_FORCE32 = 0x7fffffff
} spark_dtype;
/* specgen dtypes end */

/* How spark_quant.scale applies. The first two are blocks with a name. */
typedef enum spark_quant_scheme {
    SPARK_QUANT_NONE = 0,
    SPARK_QUANT_PER_TENSOR = 1, /* one scale: each block is a whole dimension */
    SPARK_QUANT_PER_ROW = 2,    /* one scale per index of all dimensions but the last */
    SPARK_QUANT_BLOCK = 3,      /* one scale per block[0] x block[1] x ... elements */
    SPARK_QUANT_RECORD = 16,    /* scales stand in the data, in records of the format `record` (GGUF, MLA caches) */
    SPARK_QUANT_SCHEME_FORCE32 = 0x7fffffff
} spark_quant_scheme;

/* Formats of SPARK_QUANT_RECORD. Below 256 they are the type numbers of GGML. */
/* specgen records begin: from src/core/formats.toml */
typedef enum spark_record {
    SPARK_RECORD_Q4_0 = 2,        /* 18 bytes, 32 elements */
    SPARK_RECORD_Q4_1 = 3,        /* 20 bytes, 32 elements */
    SPARK_RECORD_Q5_0 = 6,        /* 22 bytes, 32 elements */
    SPARK_RECORD_Q5_1 = 7,        /* 24 bytes, 32 elements */
    SPARK_RECORD_Q8_0 = 8,        /* 34 bytes, 32 elements */
    SPARK_RECORD_Q2_K = 10,       /* 84 bytes, 256 elements */
    SPARK_RECORD_Q3_K = 11,       /* 110 bytes, 256 elements */
    SPARK_RECORD_Q4_K = 12,       /* 144 bytes, 256 elements */
    SPARK_RECORD_Q5_K = 13,       /* 176 bytes, 256 elements */
    SPARK_RECORD_Q6_K = 14,       /* 210 bytes, 256 elements */
    SPARK_RECORD_IQ4_NL = 20,     /* 18 bytes, 32 elements */
    SPARK_RECORD_IQ4_XS = 23,     /* 136 bytes, 256 elements */
    SPARK_RECORD_GGUF_MXFP4 = 39, /* 17 bytes, 32 elements */
    SPARK_RECORD_GGUF_NVFP4 = 40, /* 36 bytes, 64 elements */
    SPARK_RECORD_FORCE32 = 0x7fffffff
} spark_record;
/* specgen records end */

/* Where the scale of a block stands. TILED_128X4: the blocks of two dimensions, the tile's rows and columns, lie in
 * tiles of 128 rows by 4 columns, 512 bytes each (docs/layouts.md); the tiles of a row of tiles follow each other, and
 * rows of tiles too, with the sizes filled up to whole tiles. The other dimensions stand as scale_stride says. */
typedef enum spark_scale_layout {
    SPARK_SCALE_LINEAR = 0, /* as scale_stride says */
    SPARK_SCALE_TILED_128X4 = 1,
    SPARK_SCALE_LAYOUT_FORCE32 = 0x7fffffff
} spark_scale_layout;

#define SPARK_MAX_NDIM 6

/* ---- structures ------------------------------------------------------------------------------------------- */

/* How the numbers in a tensor are to be read: x = (q - zero_point) * scale * global_scale. 128 bytes, frozen.
 * Dimensions are the tensor's, in its order: in [B, S, H, D] block {1, 64, 1, 0} is a scale per 64 tokens of a head. */
typedef struct spark_quant {
    spark_quant_scheme scheme;
    spark_scale_layout scale_layout;
    spark_dtype scale_dtype;
    spark_dtype zero_dtype;               /* of zero_point; NONE = there is none */
    uint16_t block[SPARK_MAX_NDIM];       /* BLOCK: elements of each dimension that share a scale; 0 = all of them */
    uint16_t record;                      /* RECORD: the format, a spark_record */
    uint8_t tile[2];                      /* TILED_128X4: dimensions of rows and columns; both 0 = the last two */
    spark_devptr scale;                   /* multipliers, not their inverses */
    uint64_t scale_bytes;                 /* bytes valid from scale on; 0 = not told */
    spark_devptr zero_point;              /* strided like scale */
    uint64_t zero_bytes;                  /* bytes valid from zero_point on; 0 = not told */
    spark_devptr global_scale;            /* F32; 0 = 1.0 */
    int64_t scale_stride[SPARK_MAX_NDIM]; /* in scales, from block to block of each dimension; all 0 = packed */
    int64_t global_stride;                /* global_scale elements from one index of dimension 0 to the next */
} spark_quant;

/* Describes device memory and never owns it. 256 bytes, frozen. All zero = absent.
 * A stride is not looked at where the size is 1. In a dimension of an input whose stride is free, 0 repeats the same
 * elements (SPARK_FIELD_BROADCAST). Of a tensor with a dimension of 0 neither data nor strides are looked at; it is
 * present, and not the same as an absent one. */
typedef struct spark_tensor {
    spark_devptr data;   /* may be 0 in query, prepare, explain, kernels: then taken as 256-byte aligned */
    uint64_t size_bytes; /* bytes valid from data on; 0 = not told, and bounds are not checked */
    spark_dtype dtype;
    uint32_t ndim;  /* 1 to 6 */
    uint32_t flags; /* 0 */
    uint32_t reserved;
    int64_t shape[SPARK_MAX_NDIM];  /* logical elements, outermost first; entries from ndim on are 0 */
    int64_t stride[SPARK_MAX_NDIM]; /* logical elements; all 0 = packed row-major; see below */
    spark_quant quant;
} spark_tensor;

/* Flags of spark_args that every operator knows. Bits 8 and up belong to the operator. */
typedef enum spark_flag {
    SPARK_FLAG_NONE = 0,
    SPARK_FLAG_DETERMINISTIC = 1,   /* same inputs, same device: same bits, every time */
    SPARK_FLAG_BATCH_INVARIANT = 2, /* a token's bits follow from its own inputs alone: see the operator's page */
    SPARK_FLAG_FORCE32 = 0x7fffffff
} spark_flag;

/* The head of every operator's arguments. */
typedef struct spark_args {
    uint32_t struct_size; /* sizeof the whole operator struct */
    uint32_t op;          /* spark_op; in an operator's own call 0 means that operator, and another is refused */
    uint32_t flags;       /* spark_flag, and the operator's own */
    uint32_t given;       /* SPARK_<OP>_GIVEN_<FIELD>: these scalars count even where they are 0 */
    uint64_t next;        /* 0 in this ABI */
} spark_args;

/* Where and with what an operator runs. */
typedef struct spark_exec {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    spark_stream stream;
    spark_devptr workspace;  /* 256-byte aligned, apart from every tensor; contents do not matter and are not kept */
    uint64_t workspace_size; /* bytes; at least spark_op_info.workspace_size */
    uint64_t kernel_id;      /* 0 = the library's choice, else a spark_op_info.kernel_id */
} spark_exec;

typedef enum spark_op_info_flag {
    SPARK_OP_INFO_NONE = 0,
    SPARK_OP_INFO_DETERMINISTIC = 1, /* this kernel gives the same bits every time */
    SPARK_OP_INFO_LOADED = 2,        /* its code is loaded in this context */
    SPARK_OP_INFO_EMPTY = 4,         /* nothing to do: a dimension is zero, nothing will be launched */
    SPARK_OP_INFO_FORCE32 = 0x7fffffff
} spark_op_info_flag;

/* What an operator call will do. */
typedef struct spark_op_info {
    uint32_t struct_size;
    uint32_t flags;           /* spark_op_info_flag */
    uint64_t workspace_size;  /* bytes */
    uint64_t workspace_align; /* bytes */
    uint64_t kernel_id;       /* a hash of the kernel's name: the same in every process */
    uint64_t flops;           /* floating-point operations of the definition */
    uint64_t bytes;           /* least memory traffic: each input read once, each output written once */
    uint32_t launches;        /* kernel launches */
    uint32_t reserved;
    char kernel[64];
} spark_op_info;

/* Owned by the caller; nothing to free. struct_size 0 = left untouched. */
typedef struct spark_error {
    uint32_t struct_size;
    spark_status status;
    int32_t driver_code; /* CUresult, 0 if the driver was not involved */
    uint32_t op;         /* spark_op, 0 if none */
    uint32_t field;      /* index for spark_op_field, 0xffffffff if none */
    char message[1024];  /* the sentence, with what the emulator reports in full */
} spark_error;

typedef struct spark_device_info {
    uint32_t struct_size;
    int32_t device; /* ordinal */
    uint32_t cc_major;
    uint32_t cc_minor;
    uint32_t sm_count;
    uint32_t smem_optin; /* bytes of shared memory one block may use */
    uint32_t l2_bytes;
    uint32_t driver_version; /* as the driver says it: 13000 is 13.0 */
    uint64_t memory_bytes;
    uint32_t supported; /* 1 = a context can be made; 0 = see reason */
    uint32_t emulated;  /* 1 = the emulator */
    char name[64];
    char reason[128];
} spark_device_info;

typedef struct spark_context_desc {
    uint32_t struct_size;
    uint32_t flags;        /* 0 */
    int32_t device;        /* ordinal */
    uint32_t offline_arch; /* 120 or 121 (or 90): no driver is opened; query, explain and kernels only */
    uint64_t cu_context;   /* a CUcontext as an integer; 0 = the device's primary context is retained */
    /* Host address of the path of a tuning file (spark-bench --tune), read in this call. Where it is given, that of
     * LIBSPARK_TUNE is not read. A file for another chip or library is left out, with a warning in the log; one that
     * is missing or damaged is refused. */
    uint64_t tuning_path;
    uint64_t tuning_path_bytes; /* its length, without a 0 at the end; 0 = none is given */
} spark_context_desc;

typedef enum spark_stream_flag {
    SPARK_STREAM_NONE = 0,
    SPARK_STREAM_BLOCKING = 1, /* waits for work on the legacy default stream, and that one for its */
    SPARK_STREAM_FLAG_FORCE32 = 0x7fffffff
} spark_stream_flag;

typedef struct spark_stream_desc {
    uint32_t struct_size;
    uint32_t flags;   /* spark_stream_flag */
    int32_t priority; /* 0 = least urgent, as all other streams; below 0 = more urgent, as far as the device goes */
    uint32_t reserved;
} spark_stream_desc;

typedef enum spark_event_flag {
    SPARK_EVENT_NONE = 0,
    SPARK_EVENT_NO_TIMING = 1,     /* cheaper, and not for spark_event_elapsed */
    SPARK_EVENT_BLOCKING_SYNC = 2, /* a thread that waits for it sleeps, instead of asking again and again */
    SPARK_EVENT_FLAG_FORCE32 = 0x7fffffff
} spark_event_flag;

typedef struct spark_event_desc {
    uint32_t struct_size;
    uint32_t flags; /* spark_event_flag */
} spark_event_desc;

/* Which threads may not do, while a stream captures, what cannot be recorded: spark_graph_begin. */
typedef enum spark_capture_mode {
    SPARK_CAPTURE_THREAD_LOCAL = 0, /* the thread that began it */
    SPARK_CAPTURE_GLOBAL = 1,       /* all threads */
    SPARK_CAPTURE_RELAXED = 2,      /* none; and any thread may end the capture */
    SPARK_CAPTURE_MODE_FORCE32 = 0x7fffffff
} spark_capture_mode;

typedef struct spark_graph_desc {
    uint32_t struct_size;
    uint32_t flags; /* 0 */
    uint32_t mode;  /* spark_capture_mode */
    uint32_t reserved;
} spark_graph_desc;

typedef struct spark_context spark_context; /* a handle, not an address */

/* ---- reflection: what bindings, tests and tools read ------------------------------------------------------ */

typedef enum spark_kind {
    SPARK_KIND_NONE = 0,
    SPARK_KIND_TENSOR = 1, /* spark_tensor */
    SPARK_KIND_F32 = 2,
    SPARK_KIND_I32 = 3,
    SPARK_KIND_U32 = 4,
    SPARK_KIND_I64 = 5,
    SPARK_KIND_U64 = 6,
    SPARK_KIND_ENUM = 7,     /* uint32_t; see choices */
    SPARK_KIND_RESERVED = 8, /* uint32_t; 0 */
    SPARK_KIND_FORCE32 = 0x7fffffff
} spark_kind;

typedef enum spark_field_flag {
    SPARK_FIELD_NONE = 0,
    SPARK_FIELD_IN = 1,
    SPARK_FIELD_OUT = 2,         /* IN and OUT both: updated */
    SPARK_FIELD_OPTIONAL = 4,    /* may be absent */
    SPARK_FIELD_UNIT_STRIDE = 8, /* the last stride is 1 */
    SPARK_FIELD_PACKED = 16,     /* row-major without gaps */
    SPARK_FIELD_BROADCAST = 32,  /* an input whose stride 0 is allowed: it repeats the same elements */
    SPARK_FIELD_QUANT = 64,      /* quant may be set, as one of the field's forms: spark_op_form */
    SPARK_FIELD_REQUIRED = 128,  /* a scalar without a usual value: bindings ask for it */
    SPARK_FIELD_FORCE32 = 0x7fffffff
} spark_field_flag;

/* The descriptions below are static, and grow at their end: read them through the pointers that the functions return,
 * and fields beyond struct_size not at all. */

/* One field of an operator struct. Fields stand in struct order; the head (spark_args) is not listed. In a shape, a
 * letter is a size shared by all fields of the operator, "..." any number of dimensions, "?" an optional one. */
typedef struct spark_field {
    uint32_t struct_size;
    uint32_t kind; /* spark_kind */
    const char *const name;
    const char *const doc;
    const char *const shape;        /* "[B?, M, K]"; NULL for scalars */
    const char *const choices;      /* enums: "NONE=0 SILU=1"; else NULL */
    const char *const default_text; /* what a 0 that is not given stands for: "1", "1 / sqrt(D)"; NULL = 0 */
    double default_value;           /* the same, where it is a number; else 0 */
    uint64_t dtype_mask;            /* bit d = dtype d is allowed */
    uint64_t alias_mask;            /* an output: bit i = it may be field i, in place */
    uint64_t needs_mask;            /* may only be present together with the fields i */
    uint32_t flags;                 /* spark_field_flag */
    uint32_t offset;                /* bytes from the start of the operator struct */
    uint32_t size;                  /* bytes */
    uint32_t min_ndim;
    uint32_t max_ndim;
    uint32_t align;     /* bytes that data must be a multiple of; 0 = the element size */
    uint32_t dtype_as;  /* the dtype must be in dtype_mask or equal that of this field; 0xffffffff = none */
    uint32_t given;     /* its bit in spark_args.given; 0 = a zero is a zero */
    uint32_t num_forms; /* how spark_op_form may answer; 0 = the field takes no quant */
    uint32_t reserved;
} spark_field;

typedef enum spark_form_flag {
    SPARK_FORM_NONE = 0,
    SPARK_FORM_GLOBAL_SCALE = 1, /* global_scale may be set */
    SPARK_FORM_FORCE32 = 0x7fffffff
} spark_form_flag;

/* One legal form of a quantised field. Masks have bit d for the dtype or layout d. */
typedef struct spark_quant_form {
    uint32_t struct_size;
    uint32_t flags; /* spark_form_flag */
    const char *const name;
    const char *const doc;
    uint64_t dtype_mask;       /* of the data */
    uint64_t scale_dtype_mask; /* 0 = no scale stands beside the data */
    uint64_t zero_dtype_mask;  /* 0 = no zero points */
    uint32_t scheme;           /* spark_quant_scheme */
    uint32_t layout_mask;      /* of spark_scale_layout */
    uint32_t record;           /* RECORD: the format, its bytes and elements */
    uint32_t record_bytes;
    uint32_t record_elements;
    uint32_t num_blocks;            /* how many of the last dimensions `block` is about; before them it is 1 */
    uint16_t block[SPARK_MAX_NDIM]; /* outermost first; 0 = the whole dimension */
    uint16_t reserved[2];
} spark_quant_form;

typedef struct spark_op_desc {
    uint32_t struct_size;
    uint32_t op; /* spark_op */
    const char *const name;
    const char *const doc;
    const char *const family;
    const char *const flag_choices; /* "NORMALIZE_ROUNDED=256 ..."; the operator's own flags */
    uint32_t num_fields;
    uint32_t args_size;  /* sizeof the struct */
    uint32_t first_size; /* smallest struct_size accepted: sizeof in the release that introduced it */
    uint32_t flags_mask; /* every flag that is allowed */
    uint32_t given_mask; /* every bit of spark_args.given that is allowed */
    uint32_t since;      /* version that introduced it, as spark_version counts */
} spark_op_desc;

/* ---- the library ------------------------------------------------------------------------------------------ */

/* major * 10000 + minor * 100 + patch of the library that runs (the macros above: of the header compiled). */
SPARK_API uint32_t spark_version(void);
/* A JSON object: version, abi, compiler, ptxas, archs, kernels. Static text. */
SPARK_API const char *spark_build_info(void);
/* "SPARK_ERR_INVALID_SHAPE", or "SPARK_STATUS_UNKNOWN". Static text, never NULL. */
SPARK_API const char *spark_status_name(spark_status status);
/* "BF16", or "UNKNOWN". Static text, never NULL. */
SPARK_API const char *spark_dtype_name(spark_dtype dtype);
/* Width of an element in bits, or 0. */
SPARK_API uint32_t spark_dtype_bits(spark_dtype dtype);

typedef enum spark_log_level {
    SPARK_LOG_OFF = 0,
    SPARK_LOG_ERROR = 1,
    SPARK_LOG_WARN = 2,
    SPARK_LOG_INFO = 3,
    SPARK_LOG_DEBUG = 4,
    SPARK_LOG_FORCE32 = 0x7fffffff
} spark_log_level;

/* Called on the thread that logs; must not call back into the library. The text lives for the call only. */
typedef void (*spark_log_fn)(void *user, int32_t level, const char *component, const char *message);
/* Sends log lines up to `level` to fn, for the whole process; NULL ends it. Without this call, and without
 * LIBSPARK_LOG, nothing is ever written. */
SPARK_API void spark_set_log(spark_log_fn fn, void *user, int32_t level);

/* ---- devices and contexts --------------------------------------------------------------------------------- */

/* How many devices the driver has, supported or not. */
SPARK_API spark_status spark_device_count(int32_t *count, spark_error *err);
/* Fills info, also for a device this library does not support (supported = 0, with the reason). */
SPARK_API spark_status spark_device_query(int32_t device, spark_device_info *info, spark_error *err);

/* Makes a context: immutable, shared by any number of threads. At most 64 live at a time. */
SPARK_API spark_status spark_context_create(const spark_context_desc *desc, spark_context **out, spark_error *err);
/* Once no call is using it; destroys its streams, events and graphs too. NULL and dead contexts are ignored: a handle
 * is never given twice. Work in flight goes on. */
SPARK_API void spark_context_destroy(spark_context *ctx);
/* The device of a context. An offline context fills what its arch tells, with device -1. */
SPARK_API spark_status spark_context_device(spark_context *ctx, spark_device_info *info, spark_error *err);
/* Loads the code of every kernel of one operator (0 = of all), so that no later launch has to. */
SPARK_API spark_status spark_context_preload(spark_context *ctx, uint32_t op, spark_error *err);

/* ---- device memory ---------------------------------------------------------------------------------------- */

/* At least 256-byte aligned. 0 bytes gives address 0. */
SPARK_API spark_status spark_mem_alloc(spark_context *ctx, uint64_t bytes, spark_devptr *out, spark_error *err);
/* Address 0 is ignored. */
SPARK_API spark_status spark_mem_free(spark_context *ctx, spark_devptr data, spark_error *err);
/* Bytes of the device that are free, and that it has. Other programs share them. */
SPARK_API spark_status spark_mem_info(spark_context *ctx, uint64_t *free_bytes, uint64_t *total_bytes,
                                      spark_error *err);
/* In stream order, and waits for the stream: src may be reused on return. */
SPARK_API spark_status spark_mem_copy_to_device(spark_context *ctx, spark_devptr dst, const void *src, uint64_t bytes,
                                                spark_stream stream, spark_error *err);
/* In stream order, and waits for the stream: dst is filled on return. */
SPARK_API spark_status spark_mem_copy_to_host(spark_context *ctx, void *dst, spark_devptr src, uint64_t bytes,
                                              spark_stream stream, spark_error *err);
/* Enqueued on the stream; may be captured in a graph, which then reads src at every launch. Memory of spark_host_alloc
 * must keep its contents until the copy has run. Other memory is copied aside or waited for before the call returns,
 * except in a capture. */
SPARK_API spark_status spark_mem_copy_to_device_async(spark_context *ctx, spark_devptr dst, const void *src,
                                                      uint64_t bytes, spark_stream stream, spark_error *err);
/* Enqueued on the stream; may be captured in a graph. dst is filled when the stream's work up to here has finished;
 * with other memory than that of spark_host_alloc the call may wait for it. */
SPARK_API spark_status spark_mem_copy_to_host_async(spark_context *ctx, void *dst, spark_devptr src, uint64_t bytes,
                                                    spark_stream stream, spark_error *err);
/* Device to device, enqueued on the stream; may be captured in a graph. */
SPARK_API spark_status spark_mem_copy(spark_context *ctx, spark_devptr dst, spark_devptr src, uint64_t bytes,
                                      spark_stream stream, spark_error *err);
/* Every byte becomes `value` (0 to 255); enqueued on the stream; may be captured in a graph. */
SPARK_API spark_status spark_mem_set(spark_context *ctx, spark_devptr dst, uint32_t value, uint64_t bytes,
                                     spark_stream stream, spark_error *err);

/* Allocation in stream order: the memory may be used by work that is enqueued on the stream after this call, and by
 * other streams that wait for it. Not in a capture. 0 bytes gives address 0. */
SPARK_API spark_status spark_mem_alloc_async(spark_context *ctx, uint64_t bytes, spark_stream stream, spark_devptr *out,
                                             spark_error *err);
/* Frees what spark_mem_alloc_async or spark_mem_alloc gave once the stream's work up to here has finished. Not in a
 * capture. Address 0 is ignored. */
SPARK_API spark_status spark_mem_free_async(spark_context *ctx, spark_devptr data, spark_stream stream,
                                            spark_error *err);

/* Pinned host memory: copies from and to it run beside the host, for every context. 0 bytes gives NULL. */
SPARK_API spark_status spark_host_alloc(spark_context *ctx, uint64_t bytes, void **out, spark_error *err);
/* Waits for work that uses it. NULL is ignored. */
SPARK_API spark_status spark_host_free(spark_context *ctx, void *data, spark_error *err);

/* can becomes 1 if kernels of ctx can be let read and write memory of peer, a context of another device; 0 if not. */
SPARK_API spark_status spark_peer_can_access(spark_context *ctx, spark_context *peer, uint32_t *can, spark_error *err);
/* Lets kernels of ctx read and write memory of peer, until one of the two ends. A second time changes nothing. */
SPARK_API spark_status spark_peer_enable(spark_context *ctx, spark_context *peer, spark_error *err);
/* From memory of src_ctx to memory of dst_ctx, enqueued on a stream of either; needs no peer access, and is faster
 * with it. May be captured in a graph. */
SPARK_API spark_status spark_mem_copy_peer(spark_context *dst_ctx, spark_devptr dst, spark_context *src_ctx,
                                           spark_devptr src, uint64_t bytes, spark_stream stream, spark_error *err);

/* ---- streams, events, graphs ------------------------------------------------------------------------------ */

/* desc NULL: zeros, a stream that does not wait for the legacy default stream. */
SPARK_API spark_status spark_stream_create(spark_context *ctx, const spark_stream_desc *desc, spark_stream *out,
                                           spark_error *err);
/* 0, 1 and 2 are ignored; a CUstream of other software is refused. Work in flight goes on. */
SPARK_API spark_status spark_stream_destroy(spark_context *ctx, spark_stream stream, spark_error *err);
/* The CUstream, as an integer, for other software. It lives as long as the stream. What is no handle of this library
 * (0, 1, 2, a CUstream) is given back as it is. */
SPARK_API spark_status spark_stream_native(spark_context *ctx, spark_stream stream, uint64_t *native, spark_error *err);
/* Waits on the host until all work of the stream is done; a fault of that work is its status. */
SPARK_API spark_status spark_stream_synchronize(spark_context *ctx, spark_stream stream, spark_error *err);
/* done becomes 1 if all work has finished, 0 if not. */
SPARK_API spark_status spark_stream_query(spark_context *ctx, spark_stream stream, uint32_t *done, spark_error *err);
/* Later work on the stream waits for the event. */
SPARK_API spark_status spark_stream_wait_event(spark_context *ctx, spark_stream stream, spark_event event,
                                               spark_error *err);
/* desc NULL: zeros, an event that can be timed. */
SPARK_API spark_status spark_event_create(spark_context *ctx, const spark_event_desc *desc, spark_event *out,
                                          spark_error *err);
/* 0 is ignored; a CUevent of other software is refused. Streams that wait for it still do. */
SPARK_API spark_status spark_event_destroy(spark_context *ctx, spark_event event, spark_error *err);
/* The CUevent, as an integer, for other software. It lives as long as the event. A CUevent is given back as it is. */
SPARK_API spark_status spark_event_native(spark_context *ctx, spark_event event, uint64_t *native, spark_error *err);
/* Marks the place that the stream has come to, in place of an earlier one. */
SPARK_API spark_status spark_event_record(spark_context *ctx, spark_event event, spark_stream stream, spark_error *err);
/* Waits on the host until the event's place is passed; not at all for one that was never recorded. */
SPARK_API spark_status spark_event_synchronize(spark_context *ctx, spark_event event, spark_error *err);
/* done = 1 where spark_event_synchronize would not wait, else 0. */
SPARK_API spark_status spark_event_query(spark_context *ctx, spark_event event, uint32_t *done, spark_error *err);
/* Milliseconds between two recorded and finished events. */
SPARK_API spark_status spark_event_elapsed(spark_context *ctx, spark_event begin, spark_event end, float *milliseconds,
                                           spark_error *err);
/* From here to spark_graph_end or spark_graph_end_update, work enqueued on the stream is recorded and not run. What
 * cannot be recorded (allocation, waiting, asking, copies that wait) is refused meanwhile with
 * SPARK_ERR_INVALID_CAPTURE, and the capture goes on. desc NULL: zeros. */
SPARK_API spark_status spark_graph_begin(spark_context *ctx, spark_stream stream, const spark_graph_desc *desc,
                                         spark_error *err);
/* Ends the capture; out is a new graph of what was recorded, until spark_graph_destroy. */
SPARK_API spark_status spark_graph_end(spark_context *ctx, spark_stream stream, spark_graph *out, spark_error *err);
/* Ends the capture and gives what was recorded to an existing graph, for its later launches: cheaper than another
 * graph. Nodes and their order must be as they were; addresses, sizes, scalars and grids may differ. Else refused
 * with SPARK_ERR_INVALID_CAPTURE and the reason: the graph stays as it was, and the capture is gone. */
SPARK_API spark_status spark_graph_end_update(spark_context *ctx, spark_stream stream, spark_graph graph,
                                              spark_error *err);
/* Enqueues all of a graph's work on the stream, which may be another than the recorded one. */
SPARK_API spark_status spark_graph_launch(spark_context *ctx, spark_graph graph, spark_stream stream, spark_error *err);
/* The CUgraphExec, as an integer, for other software. It lives as long as the graph. */
SPARK_API spark_status spark_graph_native(spark_context *ctx, spark_graph graph, uint64_t *native, spark_error *err);
/* 0 is ignored. */
SPARK_API spark_status spark_graph_destroy(spark_context *ctx, spark_graph graph, spark_error *err);

/* ---- operators, generic ----------------------------------------------------------------------------------- */

/* Checks the arguments and says what a launch would do. Host only. info may be NULL: then it only checks. */
SPARK_API spark_status spark_op_query(spark_context *ctx, const spark_args *args, spark_op_info *info,
                                      spark_error *err);
/* As query, and loads the code that the launch will need. */
SPARK_API spark_status spark_op_prepare(spark_context *ctx, const spark_args *args, spark_op_info *info,
                                        spark_error *err);
/* Enqueues the work on exec->stream (exec NULL: stream 0, no workspace). Never allocates or waits. Code that is not
 * loaded yet is loaded, except while the stream is capturing: then SPARK_ERR_NOT_PREPARED. */
SPARK_API spark_status spark_op_launch(spark_context *ctx, const spark_args *args, const spark_exec *exec,
                                       spark_error *err);
/* Writes one line per dispatch row: the kernel, and the first limit that it fails or why it is chosen ('*').
 * needed receives the size with the final NUL; a smaller capacity fails with SPARK_ERR_BUFFER_TOO_SMALL. */
SPARK_API spark_status spark_op_explain(spark_context *ctx, const spark_args *args, char *text, size_t capacity,
                                        size_t *needed, spark_error *err);
/* Every kernel that is legal for these arguments and needs at most workspace_limit bytes of workspace (UINT64_MAX for
 * all of them): the library's choice, then the others, the cheapest by the cost model first. count receives their
 * number; only the first `capacity` are written, and fewer than there are is no error. infos may be NULL with capacity
 * 0. Each infos[i].struct_size must be set. */
SPARK_API spark_status spark_op_kernels(spark_context *ctx, const spark_args *args, uint64_t workspace_limit,
                                        spark_op_info *infos, uint32_t capacity, uint32_t *count, spark_error *err);
/* The description of an operator by its number (spark_op), or NULL. Static. */
SPARK_API const spark_op_desc *spark_op_describe(uint32_t op);
/* How many operators there are, and the description of the i-th of them (NULL beyond). Static. */
SPARK_API uint32_t spark_op_count(void);
SPARK_API const spark_op_desc *spark_op_at(uint32_t index);
/* The i-th field of an operator, and the j-th form in which that field may be quantised; NULL beyond. Static. */
SPARK_API const spark_field *spark_op_field(uint32_t op, uint32_t field);
SPARK_API const spark_quant_form *spark_op_form(uint32_t op, uint32_t field, uint32_t form);

/* ---- operators: generated by tools/specgen from src/ops/<family>/op.toml; do not edit to the end mark ------- */
/* specgen begin */

typedef enum spark_op {
    SPARK_OP_NONE = 0,
    SPARK_OP_GEMM = 1,
    SPARK_OP_ATTENTION = 3,
    SPARK_OP_RMSNORM = 4,
    SPARK_OP_SAMPLE = 6,
    SPARK_OP_EMBEDDING = 7,
    SPARK_OP_L2NORM = 8,
    SPARK_OP_LAYERNORM = 9,
    SPARK_OP_ROPE = 10,
    SPARK_OP_KV_APPEND = 11,
    SPARK_OP_ACTIVATION = 12,
    SPARK_OP_GLU = 13,
    SPARK_OP_ADD = 14,
    SPARK_OP_SOFTMAX = 15,
    SPARK_OP_CAST = 16,
    SPARK_OP_DEQUANTIZE = 17,
    SPARK_OP_AMAX = 18,
    SPARK_OP_QUANTIZE = 19,
    SPARK_OP_HADAMARD = 20,
    SPARK_OP_MERGE_STATES = 21,
    SPARK_OP_KV_GATHER = 22,
    SPARK_OP_KV_COPY = 23,
    SPARK_OP_REPACK = 24,
    SPARK_OP_LORA = 25,
    SPARK_OP_COMPRESS = 26,
    SPARK_OP_DELAYED_SCALE = 27,
    SPARK_OP_ROPE_APPEND = 28,
    SPARK_OP_REQUANTIZE = 29,
    SPARK_OP_FORCE32 = 0x7fffffff
} spark_op;

/* Functions of one number: of the operators activation and glu, and at the end of others. */
typedef enum spark_activation_kind {
    SPARK_ACTIVATION_NONE = 0,         /* x */
    SPARK_ACTIVATION_SILU = 1,         /* x * sigmoid(x) */
    SPARK_ACTIVATION_GELU_ERF = 2,     /* x * (1 + erf(x / sqrt(2))) / 2 */
    SPARK_ACTIVATION_GELU_TANH = 3,    /* x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2 */
    SPARK_ACTIVATION_RELU = 4,         /* max(x, 0) */
    SPARK_ACTIVATION_RELU_SQUARED = 5, /* max(x, 0)^2 */
    SPARK_ACTIVATION_SOFTCAP = 6,      /* cap * tanh(x / cap), with the operator's field cap */
    SPARK_ACTIVATION_FORCE32 = 0x7fffffff
} spark_activation_kind;

/* How quantize makes a scale of a block's amax. What a format has no kernel for yet is refused by name. */
typedef enum spark_scale_rule {
    SPARK_SCALE_RULE_USUAL = 0,         /* amax / largest with F32 scales, FLOOR for MX, amax / 6 for NVFP4 */
    SPARK_SCALE_RULE_FLOOR = 1,         /* 2^(floor(log2(amax)) - 8), E2M1, E2M3 - 2, E3M2 - 4, I2F6 - 0, as OCP says */
    SPARK_SCALE_RULE_RCEIL = 2,         /* the power of two that is no less than amax / largest */
    SPARK_SCALE_RULE_EVEN = 3,          /* as FLOOR, of the amax rounded to the element's bits, ties to even */
    SPARK_SCALE_RULE_FOUR_OVER_SIX = 4, /* of amax / 6 and amax / 4 the one with the smaller error, for E2M1 */
    SPARK_SCALE_RULE_FORCE32 = 0x7fffffff
} spark_scale_rule;

/* Which column of its eight each code of a word of 32 bits is, from its lowest bits on. */
typedef enum spark_word_order {
    SPARK_WORD_ORDER_LINEAR = 0,      /* 0 1 2 3 4 5 6 7, as in GPTQ's words */
    SPARK_WORD_ORDER_INTERLEAVED = 1, /* 0 2 4 6 1 3 5 7, as in AWQ's words */
    SPARK_WORD_ORDER_FORCE32 = 0x7fffffff
} spark_word_order;

/* Flags of gemm, beside spark_flag. */
typedef enum spark_gemm_flag {
    SPARK_GEMM_GATED = 256,        /* two rows of b for each column of d: act(gate) * up */
    SPARK_GEMM_INTERLEAVED = 512,  /* with GATED: the rows of gate and up alternate; else they are halves of b */
    SPARK_GEMM_UP_FIRST = 1024,    /* with GATED: up before gate */
    SPARK_GEMM_GPT_OSS = 2048,     /* with GATED and SILU: gate * sigmoid(1.702 * gate) * (up + 1) */
    SPARK_GEMM_OWN_AMAX = 4096,    /* with d as codes: their scale of all is made of the amax of the results */
    SPARK_GEMM_TWO_OF_FOUR = 8192, /* b has two of each four numbers along K, and kept says which */
    SPARK_GEMM_TF32 = 16384,       /* numbers of F32 are multiplied as TF32 */
    SPARK_GEMM_BF16X3 = 32768,     /* numbers of F32 are multiplied as two of BF16, by three products */
    SPARK_GEMM_F16_SUMS = 65536,   /* sums of 16 products of F16 or FP8 may be rounded to F16 */
    SPARK_GEMM_FLAG_FORCE32 = 0x7fffffff
} spark_gemm_flag;

/* Bits of hdr.given in gemm: the field counts even where it is 0. */
typedef enum spark_gemm_given {
    SPARK_GEMM_GIVEN_ALPHA = 1, /* else 0 is 1 */
    SPARK_GEMM_GIVEN_FORCE32 = 0x7fffffff
} spark_gemm_given;

/* Matrix product, optionally batched, with addend, bias and activation, or with a gate.
 *
 * d[m, n] = round(act(alpha * sa[m] * sb[n] * sum_k a[m, k] * b[n, k] + beta * c[m, n] + bias[n]))
 *
 * with GATED, of the numbers x[m, n] = alpha * sa[m] * sb[n] * sum_k a[m, k] * b[n, k] + bias[n]:
 * g, u    = x[m, j], x[m, N/2 + j]       or with INTERLEAVED x[m, 2 j], x[m, 2 j + 1]; with UP_FIRST u, g
 * g, u    = min(g, limit), min(max(u, -limit), limit)        with a limit
 * d[m, j] = round(act(g) * u)            or with GPT_OSS round(g * sigmoid(1.702 * g) * (u + 1))
 *
 * d of E4M3, E5M2, I8, E2M1 or I4: what the operator quantize makes of what round() is of else
 *
 * Products and sums are FP32; there is one rounding, to nearest even, to the dtype of d. Of F32 each product is added
 * by one fused multiply-add, in order of k, in every kernel, but for two flags. With TF32 each number of a and of b is
 * rounded to TF32's ten fraction bits, to nearest even, infinity beyond its largest, and multiplied as that. With
 * BF16X3 each x is split into hi = BF16(x) and lo = BF16(x - hi), rounded to nearest even, and sum_k is that of lo *
 * hi, hi * lo and hi * hi; what is dropped, lo * lo and what the two leave of x, is at most 3 * 2^-16 of a product of
 * numbers above 2^-110. Where such a sum, of each part of k by itself, is NaN, as where x is infinite or beyond BF16's
 * largest, it is the sum of F32 without flags instead. Tensor cores do both. What of a and b does not lie along K, or
 * has rows that do not begin on 16 bytes, is copied into the workspace for them first. With F16_SUMS, a and b of F16 or
 * FP8, the caller allows that the products of 16 of k, 16 i to 16 i + 15, are summed by themselves and this sum is
 * rounded to F16, to nearest even, infinity beyond its largest, before it is added in FP32: sum_k is within 2^-11 of
 * the sum of the products' magnitudes, and 2^-25 for each 16 of k, of itself. It is done where tensor cores are faster
 * so: of F16 on GeForce cards of 12.x, in tn, where rows begin on 16 bytes, and without SPARK_FLAG_BATCH_INVARIANT; of
 * FP8 nowhere, whose sums in FP32 are as fast on every chip. Of I8 both are
 * integers: the sum is exact, so that K is at most 131071, and its nearest FP32 number is what all else is done with.
 * sa and sb are what codes of FP8 and I8 are multiplied by, as a.quant and b.quant say, each for itself: one scale for
 * the tensor, or one for each of its rows, in every batch; 1 without quant, and for other dtypes. The sum is multiplied
 * by sa, by sb and by alpha, in this order and in FP32; where k is split, each part is multiplied by sa and sb, of I8
 * their sum.
 * d is I32 of I8 alone, and then the sums themselves: without quant, bias and activation, alpha 1 and beta 0.
 * E4M3 of 1X128 is multiplied with E4M3 of 128X128, as DeepSeek-V3 does: activations with a scale for each row and 128
 * of K, [M, ceil(K / 128)] in F32, and weights with one for 128 rows and 128 of K, [ceil(N / 128), ceil(K / 128)], at
 * any strides. The products of 128 along K are summed by themselves, that sum is multiplied by the product of its two
 * scales, rounded to F32, and added to the sum of those before it by one fused multiply-add, in order of K; sa and sb
 * are 1. The last block of K or N may be shorter.
 * E2M1, E2M3, E3M2, and E4M3 and E5M2 of MXFP8, have scales of blocks: each code in sum_k is multiplied by the scale
 * of its block, and sa and sb are the global_scale of NVFP4, or 1. NVFP4 is multiplied with NVFP4, and each of OCP's
 * formats, MXFP8 in both types, MXFP6 and MXFP4, with each of them, and with E4M3 of 32X32 as b: weights with a power
 * of two for 32 rows and 32 of K, [ceil(N / 32), K / 32], at any strides. K is a multiple of the block, the highest
 * bit of a scale of NVFP4 is not looked at, and rows begin on whole bytes, so that strides of E2M1 are even and those
 * of E2M3 and E3M2 multiples of 4. The scales of blocks stand as strides say, or in TILED_128X4 along the last two
 * dimensions. Compute capability 12.x multiplies all of these in its tensor cores, 32 bytes of k at a time, where
 * every fourth of the scales, which follow each other along K, is on 4 bytes: E2M1 with E2M1, E4M3 as a with E2M1, and
 * codes of 8 bits with each other as they lie, where rows of both begin on 16 bytes. In other pairs codes of E2M3,
 * E3M2 and E2M1, whose rows begin on 4 bytes, are first written into the workspace as those of E4M3, which has all
 * their numbers. Elsewhere, and on 9.0, one product after the other is added.
 * Layouts are told by strides. Each of a and b has stride 1 in one of its last two dimensions:
 *
 *     tn   a and b along K            a row-major, b row-major: x times the transpose of a weight
 *     nn   a along K, b along N       dX = dY W
 *     nt   a along M, b along N       dW = dY^T X
 *     tt   a along M, b along K
 *
 * FP8, I8 and codes with scales of blocks are multiplied in tn alone, E4M3 and E5M2 with each other too. d and c have
 * stride 1 along N and a free row stride. a and b may be the same memory: X times its transpose, in tn and with beta 0,
 * is symmetric to the bit; of a large one a quarter of d is copied. An input without the batch dimension, or with batch
 * stride 0, is the same for every batch. Where M, N or the batch is 0 the call succeeds and launches nothing. With K 0
 * the sum is 0 and no scale is read. beta 0 means that c is not read; without c, beta must be 0.
 * Weights: with a in BF16 or F16, b may be quantised, both along K. Records (U8, b.quant.scheme SPARK_QUANT_RECORD)
 * are those that dequantize reads; b's last dimension is then the bytes of the records of a row, its address and its
 * strides are multiples of the largest power of two, at most 8, that divides a record's bytes, of Q4_1 of 2. E4M3 and
 * I8 have one scale, or one for each row of b; K, the address and the strides of b are multiples of 4. I4 and U4 have
 * a scale for 32, 64 or 128 along K (INT4_32 to INT4_128), at any strides, in F16, BF16 or F32, and if b.quant has a
 * zero_point a zero for each, in U4, two in a byte, at the same strides: b[n, k] = scale * (q - zero), with the zero
 * as it is stored; I4 is -8 to 7. K is free, the strides of b are even. NF4 has a scale for 64 (NF4_64), likewise,
 * and no zero: b[n, k] = scale * table[q], as dequantize says. MXFP8 of E4M3, 32X32, MXFP6, MXFP4, MXINT8 and NVFP4
 * have scales of blocks, with what is said of these above, for b alone, and NVFP4 one global_scale; other forms that
 * dequantize reads are no weights. Codes, less their zeros, are exact in
 * the dtype of a; their products with a are summed in FP32, of a record, of 16 of Q6_K, of 32 of INT4 and MXFP4 and of
 * 64 or 128 that share a scale by themselves, and that sum is multiplied by the scale, in FP32. A code of NVFP4, and of
 * GGUF_NVFP4, by its scale is exact too, so that products of these are one sum, which global_scale multiplies; one of
 * MXFP4 in BF16 as well, where the kernel does so; one of Q2_K or Q3_K by its scale too, of which 128 are one sum, by
 * d. Where M is large, or the alignment does not allow that, b is unpacked instead, whole or by tiles, each number
 * rounded once, to nearest even, to the dtype of a, infinity beyond its largest; with SPARK_FLAG_BATCH_INVARIANT
 * always, and always but for I8, E4M3 with scales in F32, INT4, MXFP4, NVFP4 and records other than GGUF_MXFP4. What
 * an infinity in a or in a scale takes part in is infinite or NaN, and what a NaN scale does is NaN.
 * Gated linear units: with GATED the rows of b, and the numbers of bias, are those of a gate and of a projection up,
 * two for each column of d: SwiGLU with SILU, GEGLU with a GELU. They are halves, or alternate (INTERLEAVED), the gate
 * first or the projection (UP_FIRST). A limit bounds the gate above and the projection on both sides; 0 is none.
 * gpt-oss has INTERLEAVED, GPT_OSS, SILU and the limit 7. There is no rounding before that to the dtype of d. c is not
 * read then, beta is 0, d is not I32, and N is even.
 * Codes: d may be quantised, in one of the forms below. Then it is what quantize makes of the results in FP32, with an
 * amax_floor of 0 and the rule USUAL: scales of rows and of blocks are written, in rows or in tiles, as d.quant says;
 * the scale of all, that of TENSOR and NVFP4's global_scale, is given, and read, or with OWN_AMAX made of the amax of
 * the results, and written. c is absent then. E4M3 and E5M2 with a given scale and without amax come from the kernels
 * of the product themselves, which do not divide by the scale but multiply by its inverse: the quotient is within
 * 2^-21 of itself. All others go through a workspace of F32, and further launches. amax takes the largest magnitude,
 * NaN if there is one: of results before they become codes, in any form, and of other d but I32 as it is stored, by
 * further launches.
 * 2:4 sparsity: with TWO_OF_FOUR b is [N, K / 2], BF16 or F16 as a, or FP8 of either type as a, with or without
 * scales of rows or of all as above, both along K, K a multiple of 4, and kept
 * [N, ceil(K / 8)], as compress makes them of [N, K]. b[n, 2 i] and b[n, 2 i + 1] are multiplied with a[m, 4 i + p0]
 * and a[m, 4 i + p1], where p0 + 4 p1 are four bits of kept[n, i / 2], those of an even i below; p0 < p1, and other
 * bits have no meaning: what they make of d is any number. What is not kept takes no part, be it infinite or NaN in a.
 * Without TWO_OF_FOUR kept is not read.
 * Where d has too few tiles for the device, k is split into parts that meet in a workspace (spark_op_info says its
 * size), of up to six products too; their number follows from the shape and the device alone. With
 * SPARK_FLAG_BATCH_INVARIANT it follows from N, K and the device: two parts of BF16 and F16 in tn where N is at most 64
 * columns for each multiprocessor and K 2048 or more, else one; products of I8, whose sums are exact, are split as
 * without it. The bits of a row of d follow from that row of a and its scale, from b and its scales, from c and bias,
 * from N, K, dtypes, layouts, leading dimensions, the alignment of addresses and batch strides, and the device,
 * whatever M, batch and other rows are. A stride that leads nowhere, as that of a single row, counts as if rows were
 * packed.
 */
typedef struct spark_gemm_args {
    spark_args hdr;
    /* [B?, M, K], BF16 F16 F32 E4M3 E5M2 I8 E2M3 E3M2 E2M1, quant TENSOR ROW 1X128 MXFP8 MXFP8_E5M2 MXFP6 MXFP4
       NVFP4. The left matrix. */
    spark_tensor a;
    /* [B?, N, K/2 if TWO_OF_FOUR], as a U8 E4M3 E5M2 I8 E2M3 E3M2 E2M1 I2F6 I4 U4 NF4, quant TENSOR ROW 128X128 32X32
       MXFP8_E5M2 MXFP8 MXFP6 MXFP4 MXINT8 NVFP4 INT4_32 INT4_64 INT4_128 NF4_64 Q8_0 Q4_1 Q4_0 Q5_0 Q5_1 Q2_K Q3_K
       Q4_K Q5_K Q6_K IQ4_NL IQ4_XS GGUF_MXFP4 GGUF_NVFP4. The right matrix, transposed; with FP8 of either type; of
       records the last dimension counts bytes. */
    spark_tensor b;
    /* optional, [B?, M, N/2 if GATED], as d. The addend, times beta. */
    spark_tensor c;
    /* output, [B?, M, N/2 if GATED], F32 BF16 F16 I32 E4M3 E5M2 I8 E2M1 I4, quant TENSOR ROW 1X128 MXFP8 MXFP4 NVFP4
       INT4_32 INT4_64 INT4_128, may be c, in place. The result, or codes of it; their scales are an output too, but
       for one of all that is given. */
    spark_tensor d;
    /* optional, [N], F32 BF16 F16. Added to every row, before the activation; F32 or of the type of d, of codes any
       of these. */
    spark_tensor bias;
    /* 0 that is not marked as given is 1. Factor of the product. */
    float alpha;
    /* Factor of c. */
    float beta;
    /* spark_activation_kind. Applied last; with GATED to the gate. */
    uint32_t activation;
    /* 0. */
    uint32_t reserved;
    /* With GATED: bound of the gate above and of what it multiplies on both sides, finite and positive; 0: none. */
    float limit;
    /* With SOFTCAP: the bound of its results, from 2^-20 to 2^20; else 0. */
    float cap;
    /* output, optional, [1], F32. The largest magnitude of d, of codes that of the results before. */
    spark_tensor amax;
    /* optional, [B?, N, J], U8. With TWO_OF_FOUR: where b's numbers stood, four bits for each four of K, as compress
       writes them. */
    spark_tensor kept;
} spark_gemm_args;
/* Launches gemm: spark_op_launch with typed arguments. hdr.op may be 0 here. */
SPARK_API spark_status spark_gemm(spark_context *ctx, const spark_gemm_args *args, const spark_exec *exec,
                                  spark_error *err);

/* Flags of attention, beside spark_flag. */
typedef enum spark_attention_flag {
    SPARK_ATTENTION_CAUSAL = 256, /* query i of a sequence sees the keys j <= i + keys - queries */
    SPARK_ATTENTION_FLAG_FORCE32 = 0x7fffffff
} spark_attention_flag;

/* Bits of hdr.given in attention: the field counts even where it is 0. */
typedef enum spark_attention_given {
    SPARK_ATTENTION_GIVEN_SCALE = 1,         /* else 0 is 1 / sqrt(D) */
    SPARK_ATTENTION_GIVEN_MAX_SEQLEN_Q = 2,  /* else 0 is S, or with cu_seqlens_q the number of all tokens */
    SPARK_ATTENTION_GIVEN_MAX_SEQLEN_K = 4,  /* else 0 is T, or the number of all tokens or of those in M pages */
    SPARK_ATTENTION_GIVEN_WINDOW_LEFT = 8,   /* else 0 is -1 */
    SPARK_ATTENTION_GIVEN_WINDOW_RIGHT = 16, /* else 0 is -1 */
    SPARK_ATTENTION_GIVEN_SOFTCAP = 32,      /* else 0 is 0 */
    SPARK_ATTENTION_GIVEN_MASK_FIRST = 64,   /* else 0 is keys - queries, of each sequence */
    SPARK_ATTENTION_GIVEN_FORCE32 = 0x7fffffff
} spark_attention_given;

/* Scaled dot-product attention, forward: dense, causal or in a window, capped, grouped heads, lengths, pages.
 *
 * g    = floor(h * G / H)                            the key/value head of query head h
 * s[j] = scale * sum_d q[i, h, d] * k[j, g, d]       for each visible key j of the sequence
 * s[j] = softcap * tanh(s[j] / softcap)              with softcap
 * s[j] = s[j] + alibi_slopes[h] * (j - p)            with alibi_slopes
 * s[j] = s[j] + bias[h, i, j]                        with bias
 * p    = i + keys - queries                          the key that query i stands at (bottom-right aligned)
 * visible: j < keys, p - window_left <= j <= p + window_right, and with CAUSAL j <= p,
 *          key_starts[i] <= j < key_ends[i], and bit j - mask_first of key_mask[i]
 * o[i, h]   = round(sum_j exp(s[j] - lse) * v[j, g])
 * lse[i, h] = log(exp(sinks[h]) + sum_j exp(s[j]))   natural logarithm; exp(sinks[h]) is 0 without sinks
 *
 * Sums and the softmax are FP32. A row that sees no key gives o = 0 and lse = -infinity, and so does one whose
 * visible scores are all -infinity, where there is no sink. Keys that a sequence does not have are never read; a NaN
 * or an infinity in v of a key that is hidden from a row, by whatever, may reach it.
 *
 * A window of window_left = W takes W keys before the query's own and that one, W + 1 in all. It costs what they do:
 * tiles of keys that no query of a tile sees are not read.
 *
 * key_starts and key_ends give each query a range of keys of its own, of all heads: j counts from the first key of the
 * sequence. Of these it sees what CAUSAL and the window leave; a range that is empty sees nothing. It costs what it
 * holds, as a window does. With p as above:
 *
 *     chunks of C tokens      CAUSAL, key_starts = p - p % C
 *     documents               CAUSAL, key_starts = the first token of the document that p is in; without CAUSAL also
 *                             key_ends, the end of that document
 *     a prefix of P tokens    key_ends = max(P, p + 1), without CAUSAL: the prefix is seen by all, the rest is causal
 *
 * They take B * S numbers each: those of query i of sequence b follow q's, [b, i], or, with cu_seqlens_q, the token.
 *
 * key_mask hides keys one by one, in all heads: bit n % 64 of word n / 64, the lowest bit first, says whether the query
 * may see key mask_first + n. Keys before and behind those W * 64 have no bit, which hides nothing; CAUSAL, the window
 * and ranges hide what they hide. A bit of a key that a sequence does not have means nothing. The words of query i
 * follow q's tokens, as ranges do. With ranges, or with CAUSAL or window_right and a mask_first above 0, the kernel for
 * any problem is taken.
 *
 *     a full mask         mask_first = 0, W = ceil(T / 64): bit j is key j of the sequence
 *     a tree of drafts    without mask_first: bit n is draft n, as the queries are the drafts; all see what is before
 *                         them. Draft i has its own bit and its ancestors'; up to 64 drafts take one word
 *
 * Positions are none of its business: p, and with it a window and alibi_slopes, counts tokens, not depth in a tree, and
 * q and k have been rotated by whatever positions the drafts have.
 *
 * alibi_slopes add to each score how far the key is from the query's own place p, negative before it, times the slope
 * of the head, after scale and softcap, which do not touch it (ALiBi: Press et al. 2021 give head h of H, a power of
 * two, 2^(-8 (h + 1) / H)). With CAUSAL that is -slope * abs(j - p). With ranges or key_mask, or
 * where the softcap, else the scale, is below 2^-20 or above 2^20, the kernel for any problem is taken.
 *
 * A sink is a key that every query of a head sees and that has no value: it joins the denominator of its rows, and
 * lse, once a row, however many launches and parts the row takes. A row that sees no key then gives o = 0 and lse = its
 * sink. To put pieces of a sequence together by their lse (merge_states), give sinks to one of the calls alone. Neither
 * scale nor softcap touches a sink.
 *
 * A softcap takes scores smoothly into -softcap .. softcap, after scale and before keys are hidden; infinity becomes
 * softcap. tanh is within 2^-21 of itself in all kernels.
 *
 * Values and results may have another width than queries and keys, E for D: DeepSeek's heads have D 192 and E 128.
 * Heads of D above 256, and those with an E of their own, go with 16-bit types, o as q, without a bias; codes and the
 * rest take E = D up to 256. Tensor cores take an E of its own up to 128 and D up to 192, both multiples of 8, with
 * CAUSAL, windows, lengths, lists, softcap and sinks; E = D from 264 to 512, a multiple of 8, with pages too, where H
 * is one of G. Ranges, key_mask and alibi_slopes take the kernel for any problem there, as other widths do, D up to
 * 576 and E up to 512.
 *
 * Tensors are logically [sequence, token, head, d]; strides say what they are in memory: BSHD packed, BHSD with the
 * head's stride above the token's, q, k and v as slices of one projection. The last stride is 1. lse is [sequence,
 * token, head], with any strides.
 *
 * Which rows of k and v belong to sequence b, in this order:
 *
 *     cu_seqlens_k    tokens cu_seqlens_k[b] up to cu_seqlens_k[b + 1]; P and T together count the tokens of all
 *     else            row b of k and v, all T tokens; P may be larger than the number of sequences, as caches are
 *     seq_lens        of those, the first seq_lens[b]
 *
 * and cu_seqlens_q does the same for q, o and lse (B and S together count all tokens; o and lse rows of no sequence
 * are left alone). There are N - 1 sequences, or B without either list; with cu_seqlens_k alone, N - 1 must be B.
 *
 * With block_table k and v are P pages of T tokens each. Token j of sequence b is token j % T of page
 * block_table[b, j / T]; there is room for M * T tokens, of which seq_lens says how many are in use. Pages may have
 * any number of tokens and any strides (heads within tokens or around them, k and v slices of one tensor), and
 * sequences may share them. With cu_seqlens_q prompts and single tokens make one call; cu_seqlens_k, if it is there,
 * tells nothing but how many tokens each sequence has. Entries behind the keys in use mean nothing; another one that
 * is no page, negative or P and more, is taken as P - 1.
 *
 * In the place of a table a list of all pages may stand, kv_indices, beside which block_table is not looked at. The
 * pages of sequence b are the entries from kv_indptr[b] up to kv_indptr[b + 1] (FlashInfer's CSR of a paged cache).
 * There is room for what a sequence's entries hold, of the last one as much as kv_last_page_len says, which is taken
 * into 0 .. T; seq_lens and cu_seqlens_k may say less. Give max_seqlen_k too: without it the launch expects that one
 * sequence may have all pages.
 *
 * Lists, tables and lengths are read on the device, so that a captured graph follows them; entries are taken into the
 * range of the tensors, so that a wrong one gives wrong rows of this call and reads nothing else. Lists must ascend.
 *
 * Workspace: parts of a long cache have one for their sums, queries that are codes for their rows of 16 bits. Prompts
 * over codes, and over pages, of D up to 128 may be computed by two launches, of which the first writes the keys and
 * values that there is room for (t tokens of each sequence), in 16 bits, to the workspace: at most 256 MiB.
 * spark_op_kernels lists the kernels that take less.
 *
 * max_seqlen_q and max_seqlen_k bound the lengths: the launch, the choice of a kernel and the workspace depend on
 * them, never on a list. Queries from max_seqlen_q on are not computed; a longer key sequence than max_seqlen_k is
 * still right, only slower.
 *
 * With SPARK_FLAG_BATCH_INVARIANT the bits of a row of o and lse follow from its query, the keys and values that it
 * sees, at which keys of the sequence these stand, sink, slope and scale alone: the same in a call for one query and
 * for all of a sequence, in one piece or in chunks, whatever the number of sequences, their lengths and lists, the
 * room of the cache, its pages, max_seqlen_q, max_seqlen_k, other heads, and the values of other rows, NaN among them.
 * That holds for calls of one element type, one D and one E on one kind of chip with one release, that have fewer than
 * 2^31 rows (sequences * queries * heads) and 2^31 - 256 tokens in a row of k, and whose tensors are aligned alike:
 * either all addresses and strides (of dimensions above 1) are multiples of 16 bytes, of o of 4, and D and E are of 8,
 * or the generic kernel is taken, whose bits are others. It is taken too in pages where E is not D, and with ranges,
 * key_mask or alibi_slopes where E is not D or D is above 256. With FP8 caches D is one of 16, and where it is up to
 * 128, and of 16 bits where it is above 256, H is one of G and there are at most 2^24 rows, and neither tokens nor
 * pages have scales of their own, or another kernel is taken likewise. The exception said above stays: a NaN or an
 * infinity in v of a key that is hidden may reach a row.
 * exec.kernel_id may ask for a kernel that adds in another order: then it must be the same in all calls. The flag
 * costs workspace once there is room for more than 1024 keys: sums in FP32 of each element of o, or while decoding, of
 * each for every 1024 keys.
 *
 * bias adds a number to the score of each head, query and key, last of all; neither scale nor softcap touches it. Its
 * tokens are q's: [b, h, i, j] for query i of sequence b, or with cu_seqlens_q the token; j counts from the first key
 * of the sequence, in pages too, and keys from C on have a bias of 0. Strides of 0 let sequences, heads, queries or
 * keys share numbers.
 *
 * Codes: q may be E4M3 or E5M2, k and v both E4M3 or E5M2 or NVFP4, whatever q is; q and k may be I8, and v BF16, F16,
 * E4M3 or E5M2; and q, k and v all NVFP4. The numbers are codes times scales, as q.quant, k.quant and v.quant say,
 * each for itself; FP8 and I8 without quant have the scale 1. With block_table a row of k is a page: scales of HEAD
 * belong to the heads, of BATCH_HEAD to those of each page, of ROW to those of each of its tokens, of TOKENS_16 to
 * TOKENS_256 to those of each so many of its tokens, from its first on; without pages such blocks begin with each row
 * of the tensor, whatever lists say. A last block may be shorter. NVFP4 has scales in rows (LINEAR), and its
 * global_scale may be one for all or one for each index of the first dimension. o may be of any type that the field
 * lists, rounded once; of E4M3 and E5M2 it is o / o.quant.scale, beyond the largest number that, NaN 0x7f.
 * SPARK_QUANT_PER_TENSOR's scale is given; amax takes the largest magnitude that o had before, NaN if there is one, by
 * which the scale of a later call may be made. A cache that q's type and o's go with, by what takes it:
 *
 *     q, o              k, v                                kernels, D up to
 *     BF16 or F16       as q                                tensor cores, 512; else the kernel for any problem, 576
 *     BF16 or F16       E4M3, but for the next line         tensor cores, 256; else the kernel for any problem
 *     BF16 or F16       E5M2, NVFP4, FP8 by ROW, TOKENS_n,  tensor cores, 256; else the kernel for any numbers
 *                       in pages BATCH_HEAD
 *     E4M3 or E5M2      as above, o of BF16 or F16          as above; over NVFP4 with scales of q by ROW or
 *                                                           TOKENS_n, D no multiple of 16: the kernel for any
 *                                                           numbers, 256
 *     o of E4M3 or E5M2 with a scale, k and v of BF16 or    tensor cores, 256; else the kernel for any numbers
 *     FP8
 *     q and k of I8, v and o of BF16 or F16                 tensor cores, 128; else the kernel for any numbers, 256
 *     q and k of I8 with others; q, k and v of NVFP4        the kernel for any numbers, 256
 *     o of another type than q of 16 bits, or other codes,  the kernel for any numbers, 256
 *     or a bias
 *
 * Each line goes with lists, lengths, pages, CAUSAL, windows, ranges, key_mask, alibi_slopes, softcap, sinks, lse and
 * grouped heads, all together. What is refused, by the field that the message names:
 *
 *     k        16 bits beside q of codes, or of the other 16-bit type; I8 beside q that is not; another type than q's,
 *              where q is I8 or NVFP4
 *     v        another type than k's; beside k of I8 all but BF16, F16, E4M3 and E5M2
 *     o        I8 and NVFP4
 *     q, k, v  D above 256, but of 16-bit types, o as q, without a bias; for these above 576
 *     v        E that is not D, but of the same; above 512
 *     k        G = 0 where H is not
 *     quant    NVFP4 in tiles; blocks of 1X128, of several tokens for all heads together, or of other numbers of tokens
 *              (ROW takes their scale again for each); scales that do not go on in the same steps where cu_seqlens
 *              numbers the tokens of two dimensions together, and there a T that is not whole blocks of tokens
 *
 * Keys have a mean over the tokens that is far from 0 in most models; I8 wants it subtracted first (SageAttention).
 * What is the same for all keys of a head adds one number to all scores of a query, which leaves o as it is: so
 * kernels take codes as they are and know of no mean. lse is that of the keys as they are given; that of k itself is
 * larger by scale times the product of q with the mean. Neither holds with a softcap or a sink, which look at scores
 * themselves, nor for pieces that merge_states puts together, unless they share one mean. Of k [T, G, D], packed, of
 * one sequence:
 *
 *     gemm        M 1, N G * D, K T: a is ones, b is k (nn), alpha -1 / T; d of F32 is the mean with the other sign
 *     gemm        M T, N G * D, K 0: c is k, beta 1, bias that d; d is k less its mean, rounded once
 *     quantize    that as [T, G, D], to I8 with a scale for each row
 *
 * On tensor cores products of I8 are summed exactly, and rounded once with the key's scale, which is cut by 2^-21 at
 * most and is below 2^100; weights have v's type. D is a multiple of 16 up to 128, addresses and strides are multiples
 * of 16 bytes, and there are neither pages, key_starts, key_ends, key_mask, alibi_slopes nor a softcap. Not with
 * SPARK_FLAG_BATCH_INVARIANT, a bias or an amax.
 *
 * On tensor cores codes of FP8 are multiplied as they are; the scale of k, of its head and sequence, is a factor of the
 * scores before all others, in FP32, that of v one of the result. Codes of q become rows of o's type in the workspace
 * first, exactly; their scale is a factor of that of k. Where it differs between heads that share one of k, these share
 * their keys over FP8 and up to 64 queries a sequence. They are taken where D is a multiple of 16 up to 256 and
 * addresses and strides are multiples of 16 bytes, with every mask that they take of 16-bit caches. Weights are
 * rounded to FP16 for the product with v.
 *
 * Where q, k and v are all E4M3, chips of 12.x may multiply them as codes, without rows of q in a workspace; weights
 * are E4M3 then too, within 2^-4 of what they are, those below 2^-14 of the row's largest within 2^-17 of that one.
 * So o errs about as much again as by v's own codes; lse does not. D is a multiple of 16 up to 128, o BF16, F16 or
 * FP8, there are neither key_starts, key_ends, key_mask nor alibi_slopes, and neither tokens nor pages have scales
 * of their own. Not with SPARK_FLAG_BATCH_INVARIANT, nor with exec.kernel_id of another kernel.
 *
 * Where tokens or pages have scales of their own, blocks that share the keys of up to 64 queries a sequence multiply
 * each score by its key's scale, and each weight by its value's before it is rounded to FP16, over a power of two that
 * the largest of these so far is at most 2^6 times as large as: weights of values that are less than 2^-14 of it lose
 * bits. Scales of v are 0 or 2^-80 to 2^80 in magnitude there. H is one of G and there are neither key_starts, key_ends
 * nor key_mask. Other calls, and those with scales of q by ROW, have two launches: keys, values, and queries that are
 * codes, become numbers of o's type first, rounded to nearest even, as a cache of 16 bits would hold them (of F16
 * infinite beyond 65504), where they take 256 MiB at most; else, and with SPARK_FLAG_BATCH_INVARIANT, the kernel for
 * any numbers is taken.
 *
 * Scales of blocks of tokens (TOKENS_n) become such of tokens first, in the workspace, 4 bytes for each token and head
 * of the tensor, by a launch each for q, k and v; those of I8 too. Where each row, or page, has one block they are read
 * where they stand.
 *
 * Results that are codes over a scale are stored by the kernels that share keys, and by those of prompts. Over caches
 * of FP8 prompts have numbers of 16 bits first, as above, 256 MiB at most. With SPARK_FLAG_BATCH_INVARIANT caches of
 * BF16 have such kernels, and those of E4M3 with D up to 128 and no queries of F16; others take the kernel for any
 * numbers, and so does amax of o that is no codes over a scale. It costs a launch before the others; with a scale of 0
 * it is 0.
 *
 * Prompts over FP8 of D above 128, of BF16 or codes with results of BF16, may have such numbers first too, unless calls
 * are batch-invariant.
 *
 * NVFP4 is taken there, with every such mask, where D is a multiple of 32 up to
 * 256, global_scale is below 2^113 and in pages one for all, scales of a row follow each other byte by byte, and their
 * addresses and strides are multiples of 4; numbers are codes times the scales of their blocks, exactly. Blocks share
 * the keys of up to 64 queries a sequence where H is one of G and there are neither key_starts, key_ends nor key_mask,
 * of NVFP4 where also D is 64, 128 or 256 and addresses and strides of scales are multiples of D / 16.
 *
 * Slow are the kernel for any problem and that for any numbers, which have a warp for a row and a key at a time. Beside
 * what the lines above leave to them, calls with any of these take them:
 *
 *     D, E                    no multiple of 8, of FP8 16, of NVFP4 32; E of its own above 128 or with D above 192
 *     addresses, strides      no multiple of 16 bytes, of o 4, of scales of NVFP4 4
 *     key_mask                with key_starts or key_ends; with mask_first above 0 and CAUSAL or window_right
 *     alibi_slopes            with key_starts, key_ends or key_mask; with a scale or softcap as said above
 *     sizes                   2^31 - 256 tokens and more in a row of q or of k, or in all pages of a sequence; 2^31
 *                             rows; a step of 64 GiB from one token or page to another that is copied with it
 *
 * Where q has no elements, or there is no sequence, the call succeeds and launches nothing.
 */
typedef struct spark_attention_args {
    spark_args hdr;
    /* [B, S, H, D], BF16 F16 E4M3 E5M2 I8 E2M1, quant TENSOR ROW HEAD BATCH_HEAD TOKENS_16 TOKENS_32 TOKENS_64
       TOKENS_128 TOKENS_256 NVFP4. Queries. D is a multiple of 8 up to 512 for the kernels on tensor cores, 1 to 576
       for the generic one. */
    spark_tensor q;
    /* [P, T, G, D], as q E4M3 E5M2 E2M1, quant TENSOR ROW HEAD BATCH_HEAD TOKENS_16 TOKENS_32 TOKENS_64 TOKENS_128
       TOKENS_256 NVFP4. Keys, of q's type, FP8 or NVFP4. */
    spark_tensor k;
    /* [P, T, G, E], as k BF16 F16 E4M3 E5M2, quant TENSOR ROW HEAD BATCH_HEAD TOKENS_16 TOKENS_32 TOKENS_64
       TOKENS_128 TOKENS_256 NVFP4. Values, of k's type, or beside I8 another. E may differ from D between 16-bit
       types, up to 512. */
    spark_tensor v;
    /* output, [B, S, H, E], as q BF16 F16 F32 E4M3 E5M2, quant TENSOR. The result, or codes of it over a scale that
       is given. */
    spark_tensor o;
    /* output, optional, [B, S, H], F32. Logarithm of the sum of exponentials, natural. Absent: not stored. */
    spark_tensor lse;
    /* optional, [N], I32. First token of each sequence in q, and the end of the last. */
    spark_tensor cu_seqlens_q;
    /* optional, [N], I32. First token of each sequence in k and v, and the end of the last. */
    spark_tensor cu_seqlens_k;
    /* optional, [L], I32. Keys in use, one number a sequence; there may be more numbers than sequences. */
    spark_tensor seq_lens;
    /* 0 that is not marked as given is 1 / sqrt(D). Factor of the scores, finite, not negative. With 0 all finite
       scores count the same. */
    float scale;
    /* 0. */
    uint32_t reserved;
    /* 0 that is not marked as given is S, or with cu_seqlens_q the number of all tokens. No sequence has more
       queries. */
    int64_t max_seqlen_q;
    /* 0 that is not marked as given is T, or the number of all tokens or of those in M pages. Sequences are expected
       to have at most so many keys. */
    int64_t max_seqlen_k;
    /* 0 that is not marked as given is -1. Keys before its own that a query sees. -1: all. */
    int64_t window_left;
    /* 0 that is not marked as given is -1. Keys behind its own that a query sees. -1: all; with CAUSAL none. */
    int64_t window_right;
    /* optional, [H], F32. A logit of each query head, finite or -infinity (no sink), in natural units. */
    spark_tensor sinks;
    /* optional, [L, M], I32. Pages of each sequence, in order; as many rows as lengths. Then k and v are P pages of T
       tokens. */
    spark_tensor block_table;
    /* 0 that is not marked as given is 0. Bound of the scores, finite and positive; 0: none. Gemma 2 takes 50. */
    float softcap;
    /* 0. */
    uint32_t reserved2;
    /* optional, [B, S], I32. The first key that each query may see. Absent, or negative: 0. */
    spark_tensor key_starts;
    /* optional, [B, S], I32. The end of the keys that each query may see. Absent, or more than there are: all. */
    spark_tensor key_ends;
    /* optional, [H], F32. Slope of each query head: what a score gains with each key on (ALiBi), at most 2^64 in
       magnitude. Absent: 0. */
    spark_tensor alibi_slopes;
    /* optional, [B, S, W], I64 U64. W words of bits for each query: 1 for a key that it may see. Absent: all. */
    spark_tensor key_mask;
    /* 0 that is not marked as given is keys - queries, of each sequence. The key that bit 0 of key_mask is for, 0 or
       more. Absent: that at the place of the first query. */
    int64_t mask_first;
    /* optional, [B, H, S, C], F32 BF16 F16. Added to the scores of each head, query and key, at most 2^126 in
       magnitude or infinite; -infinity hides a key. Absent: 0. */
    spark_tensor bias;
    /* optional, [N], I32, needs kv_indices. First entry of each sequence in kv_indices, and the end of the last. */
    spark_tensor kv_indptr;
    /* optional, [I], I32, needs kv_indptr. Pages of all sequences, one sequence after the other. Then block_table is
       not looked at. */
    spark_tensor kv_indices;
    /* optional, [L], I32, needs kv_indptr. Tokens in use of the last page of each sequence, 1 up to T. Absent: T. */
    spark_tensor kv_last_page_len;
    /* output, optional, [1], F32. The largest magnitude of o before it is rounded. */
    spark_tensor amax;
} spark_attention_args;
/* Launches attention: spark_op_launch with typed arguments. hdr.op may be 0 here. */
SPARK_API spark_status spark_attention(spark_context *ctx, const spark_attention_args *args, const spark_exec *exec,
                                       spark_error *err);

/* Flags of rmsnorm, beside spark_flag. */
typedef enum spark_rmsnorm_flag {
    SPARK_RMSNORM_NORMALIZE_ROUNDED = 256,   /* normalise the rounded sum, not the FP32 one */
    SPARK_RMSNORM_ROUND_BEFORE_WEIGHT = 512, /* round the normalised value before the weight is applied */
    SPARK_RMSNORM_WEIGHT_PLUS_ONE = 1024,    /* the factor is 1 + weight */
    SPARK_RMSNORM_FLAG_FORCE32 = 0x7fffffff
} spark_rmsnorm_flag;

/* Root-mean-square norm over the last dimension, with an optional residual sum.
 *
 * s = x + residual                       in FP32; s = x without residual
 * residual_out = round(s)
 * v = NORMALIZE_ROUNDED ? round(s) : s
 * t = v * rsqrt(mean(v * v) + eps)       mean over the last dimension, FP32 sum
 * t = ROUND_BEFORE_WEIGHT ? round(t) : t
 * y = round(t * (WEIGHT_PLUS_ONE ? 1 + weight : weight))
 *
 * round() rounds to nearest even to the dtype of x. Without a weight, y = round(t). Rows of any finite numbers have
 * their right result, also where squares leave FP32; the sum x + residual is FP32, and infinite beyond it. With an
 * infinity finite numbers become 0, and the infinity NaN.
 * Codes: y may be quantised, in one of the forms below. Then it is what quantize makes of the last line without its
 * round(), in FP32, with an amax_floor of 0 and the rule USUAL: scales of ROW, 1X128 and MXFP8 are written, in rows or
 * in tiles, as y.quant says; that of TENSOR is given, and read. What has a NaN has the scale NaN. y is not in place
 * then, and its leading dimensions and those of the scales collapse as in quantize.
 * The bits of a row follow from its values, N, the dtypes and the options, whatever the other rows are: all kernels are
 * deterministic, and up to 2^31 - 1 rows every call keeps SPARK_FLAG_BATCH_INVARIANT, with or without it. Where N is
 * a multiple of 8 they also follow from whether all addresses and row strides are multiples of 16 bytes: if one is not,
 * sums are added in another order. Keep one layout where bits are compared.
 * The leading dimensions of each tensor must collapse to at most two row dimensions with one stride each.
 * A problem with a zero dimension succeeds and launches nothing. NaN and infinity stay in their row.
 */
typedef struct spark_rmsnorm_args {
    spark_args hdr;
    /* [..., N], F32 F16 BF16. The rows to normalise. */
    spark_tensor x;
    /* optional, [N], as x F32. One factor per column. Absent: none is applied. */
    spark_tensor weight;
    /* optional, [..., N], as x. Added to x before the norm. */
    spark_tensor residual;
    /* output, [..., N], as x E4M3 E5M2 I8, quant TENSOR ROW 1X128 MXFP8, may be x, in place. The result, or codes of
       it; their scales are an output too, but for that of TENSOR. */
    spark_tensor y;
    /* output, optional, [..., N], as x, may be residual, in place, needs residual. The rounded sum x + residual.
       Absent: not stored. */
    spark_tensor residual_out;
    /* Added to the mean square; finite, not negative. Models use 1e-5 or 1e-6. */
    float eps;
    /* 0. */
    uint32_t reserved;
} spark_rmsnorm_args;
/* Launches rmsnorm: spark_op_launch with typed arguments. hdr.op may be 0 here. */
SPARK_API spark_status spark_rmsnorm(spark_context *ctx, const spark_rmsnorm_args *args, const spark_exec *exec,
                                     spark_error *err);

/* Chooses one token of each row of logits: the largest, or a random one by temperature, top-k, top-p and min-p.
 *
 * temperature = 0:  id = the lowest j with logits[j] = max(logits)
 * else:  w[j]  = exp((logits[j] - max(logits)) / temperature)
 *        order = tokens by falling logit, among equals by rising index
 *        top-k   keeps the first k tokens of that order
 *        top-p   keeps of those the fewest first tokens whose w add up to at least p times that of them all
 *        min-p   keeps of those the tokens with w >= min_p
 *        id      = kept token j with probability w[j] / sum of the kept w
 *
 * Zero turns each of them off: top_k <= 0 or >= V, top_p <= 0 or >= 1, min_p <= 0 keep every token; min_p >= 1 keeps
 * the tokens of the largest logit. So a struct of zeros is the argmax, and a top_p of 0 is not greedy. With temperature
 * 0 the others count for nothing.
 * Each of them is a scalar for all rows or a tensor with one entry a row, which is then read in its place, when the
 * work runs: a captured graph follows new values.
 * A row has no answer if it holds a NaN or nothing above -infinity, if its temperature is negative, infinite or NaN,
 * or if its top_p or min_p is NaN: its id is -1, and invalid_count, if given, is counted up by one. It is not set:
 * clear it first. A logit of -infinity is never chosen. Where some are +infinity, only those have a chance, all the
 * same one.
 * -0 equals +0.
 *
 * Random numbers (the contract for other implementations): Philox4x32-10 with the key (seed, low word first) and the
 * counter (offset low word, offset high word, row, 0), where row is 0 if seeds is given, and else the number of the
 * row, from 0, since all rows share one seed. The first two words of the result make x = word0 + 2^32 word1. The id is
 * the first kept j, by index, for which the kept w[0..j] add up to more than x / 2^64 of all kept w. So the draw of a
 * row depends on nothing but its logits, settings, seed and offset (and its number, without seeds): not on the batch,
 * the kernel or the launch. Offsets are not advanced: give each token of a sequence its own.
 * w is the integer 2^40 exp(...), rounded, so that sums are exact in any order; what is below 2^-41 of the largest has
 * no chance. Its relative error is 2^-22 (2 + abs(logits[j] - max(logits)) / temperature); every operation is exactly
 * rounded, so that all devices agree on every bit.
 * V is at most 2^23.
 */
typedef struct spark_sample_args {
    spark_args hdr;
    /* [B, V], F32 F16 BF16. One row for each token to choose. */
    spark_tensor logits;
    /* output, [B], I32. The chosen tokens; -1 where a row has no answer. */
    spark_tensor ids;
    /* optional, [B], F32. In place of temperature. */
    spark_tensor temperatures;
    /* optional, [B], I32. In place of top_k. */
    spark_tensor top_ks;
    /* optional, [B], F32. In place of top_p. */
    spark_tensor top_ps;
    /* optional, [B], F32. In place of min_p. */
    spark_tensor min_ps;
    /* optional, [B], I64 U64. In place of seed; the number of the row then counts for nothing. */
    spark_tensor seeds;
    /* optional, [B], I64 U64. In place of offset. */
    spark_tensor offsets;
    /* updated, optional, [1], I32. Counts the rows without an answer. */
    spark_tensor invalid_count;
    /* Divides the logits; finite, not negative. 0: the largest logit. */
    float temperature;
    /* How many tokens to keep. 0 or less: all. */
    int32_t top_k;
    /* Which part of the probability to keep. 0 or less, 1 or more: all of it. */
    float top_p;
    /* Least probability of a kept token, as a part of the largest. 0 or less: none. */
    float min_p;
    /* Key of the random numbers. */
    uint64_t seed;
    /* Which of the seed's random numbers: another one for each token of a sequence. */
    uint64_t offset;
} spark_sample_args;
/* Launches sample: spark_op_launch with typed arguments. hdr.op may be 0 here. */
SPARK_API spark_status spark_sample(spark_context *ctx, const spark_sample_args *args, const spark_exec *exec,
                                    spark_error *err);

/* Flags of embedding, beside spark_flag. */
typedef enum spark_embedding_flag {
    SPARK_EMBEDDING_ZERO_INVALID = 256, /* the row of an invalid index becomes zero */
    SPARK_EMBEDDING_FLAG_FORCE32 = 0x7fffffff
} spark_embedding_flag;

/* Copies rows of a table by index; an index outside the table is never followed.
 *
 * id = ids[i]
 * 0 <= id < V:  y[i, :] = table[id, :]
 * otherwise:    invalid_count += 1;  ZERO_INVALID ? y[i, :] = 0 : y[i, :] is left as it is
 *
 * Rows are copied bit by bit. The row strides of table and y are free; the leading dimensions of y collapse to one with
 * one stride.
 * Without ZERO_INVALID, invalid_count must be given, so that a refused index can be seen. It is counted up, not set:
 * clear it first.
 * SPARK_FLAG_BATCH_INVARIANT changes nothing: an element follows from its own row of the table alone.
 * Where y has no elements the call succeeds, launches nothing and counts nothing. With V = 0 every index is invalid.
 */
typedef struct spark_embedding_args {
    spark_args hdr;
    /* [V, D], F32 F16 BF16. The rows to choose from. */
    spark_tensor table;
    /* [...], I32 I64. Row numbers. */
    spark_tensor ids;
    /* output, [..., D], as table. The chosen rows. */
    spark_tensor y;
    /* updated, optional, [1], I32. Counts the indices outside the table. */
    spark_tensor invalid_count;
} spark_embedding_args;
/* Launches embedding: spark_op_launch with typed arguments. hdr.op may be 0 here. */
SPARK_API spark_status spark_embedding(spark_context *ctx, const spark_embedding_args *args, const spark_exec *exec,
                                       spark_error *err);

/* Scales each row to length one: the Euclidean norm over the last dimension, with eps inside the root.
 *
 * y = round(x * rsqrt(sum(x * x) + eps))     sum over the last dimension, in FP32
 *
 * round() rounds to nearest even to the dtype of x. eps is added to the sum of squares, not to the length, which is not
 * clamped: a row of zeros gives zeros if eps is above 0, and NaN if it is 0. Rows of any finite numbers have their
 * right result, also where squares leave FP32. With an infinity finite numbers become 0, and the infinity NaN.
 * The bits of a row follow from its values, N, the dtypes and the options, whatever the other rows are: all kernels are
 * deterministic, and up to 2^31 - 1 rows every call keeps SPARK_FLAG_BATCH_INVARIANT, with or without it. Where N is
 * a multiple of 8 they also follow from whether all addresses and row strides are multiples of 16 bytes: if one is not,
 * sums are added in another order. Keep one layout where bits are compared.
 * The leading dimensions of each tensor must collapse to at most two row dimensions with one stride each.
 * A problem with a zero dimension succeeds and launches nothing. NaN and infinity stay in their row.
 */
typedef struct spark_l2norm_args {
    spark_args hdr;
    /* [..., N], F32 F16 BF16. The rows to normalise. */
    spark_tensor x;
    /* output, [..., N], as x, may be x, in place. The result. */
    spark_tensor y;
    /* Added to the sum of squares; finite, not negative. Models use 1e-6. */
    float eps;
    /* 0. */
    uint32_t reserved;
} spark_l2norm_args;
/* Launches l2norm: spark_op_launch with typed arguments. hdr.op may be 0 here. */
SPARK_API spark_status spark_l2norm(spark_context *ctx, const spark_l2norm_args *args, const spark_exec *exec,
                                    spark_error *err);

/* Flags of layernorm, beside spark_flag. */
typedef enum spark_layernorm_flag {
    SPARK_LAYERNORM_NORMALIZE_ROUNDED = 256, /* normalise the rounded sum, not the FP32 one */
    SPARK_LAYERNORM_FLAG_FORCE32 = 0x7fffffff
} spark_layernorm_flag;

/* Layer norm over the last dimension: less the mean, over the deviation, with an optional residual sum.
 *
 * s = x + residual                       in FP32; s = x without residual
 * residual_out = round(s)
 * v = NORMALIZE_ROUNDED ? round(s) : s
 * d = v - mean(v)                        mean over the last dimension, FP32 sum
 * y = round(d * rsqrt(mean(d * d) + eps) * weight + bias)
 *
 * round() rounds to nearest even to the dtype of x. Without a weight the factor is 1, without a bias nothing is added.
 * The deviation is that of the values themselves (divided by N, not N - 1), from the differences to the mean, so that
 * nothing cancels where the mean is large. A row of equal values gives the bias if eps is above 0. Rows of any finite
 * numbers have their result, also where sums leave FP32; the sum x + residual is FP32, and infinite beyond it.
 * Codes: y may be quantised, in one of the forms below. Then it is what quantize makes of the last line without its
 * round(), in FP32, with an amax_floor of 0 and the rule USUAL: scales of ROW, 1X128 and MXFP8 are written, in rows or
 * in tiles, as y.quant says; that of TENSOR is given, and read. What has a NaN has the scale NaN. y is not in place
 * then, and its leading dimensions and those of the scales collapse as in quantize.
 * The bits of a row follow from its values, N, the dtypes and the options, whatever the other rows are: all kernels are
 * deterministic, and up to 2^31 - 1 rows every call keeps SPARK_FLAG_BATCH_INVARIANT, with or without it. Where N is
 * a multiple of 8 they also follow from whether all addresses and row strides are multiples of 16 bytes: if one is not,
 * sums are added in another order. Keep one layout where bits are compared.
 * The leading dimensions of each tensor must collapse to at most two row dimensions with one stride each.
 * A problem with a zero dimension succeeds and launches nothing. NaN and infinity stay in their row, and fill it.
 */
typedef struct spark_layernorm_args {
    spark_args hdr;
    /* [..., N], F32 F16 BF16. The rows to normalise. */
    spark_tensor x;
    /* optional, [N], as x F32. One factor per column. Absent: none is applied. */
    spark_tensor weight;
    /* optional, [N], as x F32. Added per column. Absent: nothing is. */
    spark_tensor bias;
    /* optional, [..., N], as x. Added to x before the norm. */
    spark_tensor residual;
    /* output, [..., N], as x E4M3 E5M2 I8, quant TENSOR ROW 1X128 MXFP8, may be x, in place. The result, or codes of
       it; their scales are an output too, but for that of TENSOR. */
    spark_tensor y;
    /* output, optional, [..., N], as x, may be residual, in place, needs residual. The rounded sum x + residual.
       Absent: not stored. */
    spark_tensor residual_out;
    /* Added to the mean square of the differences; finite, not negative. Models use 1e-5. */
    float eps;
    /* 0. */
    uint32_t reserved;
} spark_layernorm_args;
/* Launches layernorm: spark_op_launch with typed arguments. hdr.op may be 0 here. */
SPARK_API spark_status spark_layernorm(spark_context *ctx, const spark_layernorm_args *args, const spark_exec *exec,
                                       spark_error *err);

/* Flags of rope, beside spark_flag. */
typedef enum spark_rope_flag {
    SPARK_ROPE_INTERLEAVED = 256, /* pairs are neighbours (x[2i], x[2i + 1]), not halves (x[i], x[i + R/2]) */
    SPARK_ROPE_FLAG_FORCE32 = 0x7fffffff
} spark_rope_flag;

/* Bits of hdr.given in rope: the field counts even where it is 0. */
typedef enum spark_rope_given {
    SPARK_ROPE_GIVEN_THETA = 1,      /* else 0 is 10000 */
    SPARK_ROPE_GIVEN_ROTARY_DIM = 2, /* else 0 is D, or the width of the table */
    SPARK_ROPE_GIVEN_FORCE32 = 0x7fffffff
} spark_rope_given;

/* Rotates pairs of elements of each head by an angle that grows with the token's position.
 *
 * R = rotary_dim;  i in [0, R/2);  p = positions[token]
 * pair i is (x[i], x[i + R/2])              half-split, as NeoX and Llama in Hugging Face
 *        or (x[2i], x[2i + 1])              INTERLEAVED, as GPT-J
 * c, s = cos, sin of p * theta^(-2i/R)      without a table
 *        table[p, i], table[p, i + R/2]     with one
 * first  = round(x_first * c - x_second * s)
 * second = round(x_second * c + x_first * s)
 * y[R:]  = x[R:]
 *
 * FP32 products, one rounding to nearest even. y may be x in place.
 * Without a table the angle is exact up to the last step: p times the rate of pair i is taken modulo one turn in 64-bit
 * integers, so that c and s are within 2^-22 + abs(p) * 2^-62 * (R/2 + 16) of the true values at any position; at
 * position 2^20 and R = 128 that is 2^-22. Positions may be negative. theta counts as it is given; frequency scaling
 * (Llama 3.1, YaRN, LongRoPE) and factors on cos and sin come as a table.
 * A row of the table holds R/2 cosines, then R/2 sines. A position outside [0, P) is never followed: the R elements of
 * each head of that token become NaN, and invalid_count, if given, is counted up by one. It is not set: clear it first.
 * Codes: y may be quantised, in one of the forms below. Then it is what quantize makes of the head's row, without its
 * round(), in FP32, with an amax_floor of 0 and the rule USUAL: scales of ROW, one for each head of a token, of 1X128
 * and of MXFP8 are written, in rows; that of TENSOR is given, and read. What has a NaN has the scale NaN. y is not in
 * place then, D is at most 512, and 496 where R is no multiple of 16, and H is below 2^26.
 * All kernels give the same bits, and each pair's follow from its own numbers and position alone, over any strides and
 * alignment, so that SPARK_FLAG_BATCH_INVARIANT changes nothing.
 * The dimensions before H must collapse to at most two with one stride each, in x, y and y's scales alike, and those of
 * x to one where y is codes; a slice of heads of a packed QKV projection does, so that one call can rotate q and k,
 * which are neighbours there.
 */
typedef struct spark_rope_args {
    spark_args hdr;
    /* [...], I32 I64. The position of each token, read when the work runs. */
    spark_tensor positions;
    /* optional, [P, R], as x F32. cos and sin of each position. Absent: computed from theta. */
    spark_tensor table;
    /* [..., H, D], F32 F16 BF16. Heads of tokens. */
    spark_tensor x;
    /* output, [..., H, D], as x E4M3 E5M2 I8, quant TENSOR ROW 1X128 MXFP8, may be x, in place. The rotated heads, or
       codes of them; their scales are an output too, but for that of TENSOR. */
    spark_tensor y;
    /* updated, optional, [1], I32, needs table. Counts the positions outside the table. */
    spark_tensor invalid_count;
    /* 0 that is not marked as given is 10000. The base of the angles, finite and above 1. Not with a table. */
    float theta;
    /* 0 that is not marked as given is D, or the width of the table. R: how many elements of a head are rotated,
       even, at most D. */
    uint32_t rotary_dim;
} spark_rope_args;
/* Launches rope: spark_op_launch with typed arguments. hdr.op may be 0 here. */
SPARK_API spark_status spark_rope(spark_context *ctx, const spark_rope_args *args, const spark_exec *exec,
                                  spark_error *err);

/* Writes the keys and values of new tokens, or codes of them, to their rows of a cache, and never outside it.
 *
 * b, s = batch[t], positions[t]                          with batch
 *        positions[t] / S, positions[t] % S              without: positions are slots
 * with block_table: b, s = block_table[batch[t], positions[t] / S], positions[t] % S
 * with kv_indices:  b, s = kv_indices[kv_indptr[batch[t]] + positions[t] / S], positions[t] % S
 * positions[t] < 0 or batch[t] < 0:  the token is skipped
 * 0 <= b < B and 0 <= s < S:         k_cache[b, s] = k[t];  v_cache[b, s] = v[t]
 * otherwise:                         invalid_count += 1;  nothing is written
 *
 * All strides but the innermost are free: [B, H, S, D] in memory is a matter of them.
 * Positions, slots and batch indices are read when the work runs: a captured graph stays valid as sequences grow.
 * A cache of pages is a cache with B pages of S rows: give slots, page * S + offset, or batch, positions and
 * block_table, whose row of a sequence names its pages in order, as attention reads it, or kv_indices, whose entries
 * from kv_indptr[b] up to kv_indptr[b + 1] do. A token beyond those, and one whose entry is no page (negative, or B and
 * more), is outside the cache.
 * invalid_count is counted up, not set: clear it first. Two tokens must not name the same row.
 * A row follows from its token alone: SPARK_FLAG_BATCH_INVARIANT changes nothing.
 * Where k and v are of the caches' type, bits are moved, and quant of all tensors is 0: codes without their scales.
 * Of E2M1, two in a byte, D and all strides but the last are even.
 * Caches of codes: k and v are numbers, of F32, F16 or BF16, and k_cache and v_cache E4M3, E5M2 or E2M1; what is
 * written is what quantize makes of the head's row k[t, h], and of v[t, h], with an amax_floor of 0 and the rule USUAL,
 * to the bit. k_cache.quant and v_cache.quant say whose scales, each for itself, as attention reads them:
 *
 *     E4M3, E5M2    without quant       the scale 1
 *                   TENSOR              one scale for all, given
 *                   HEAD, BATCH_HEAD    a scale for each head, also of each sequence or page, given
 *                   ROW                 a scale for each head of each row, made of its amax, and written
 *     E2M1          NVFP4, LINEAR       scales of blocks, made and written; global_scale given, one for all or for
 *                                       each index of the first dimension, or absent
 *
 * Scales of rows that no token names stay as they are. Scales that are given lie apart from those of the other cache,
 * as written ones do. H and D are below 2^31 then.
 * Where k has no elements the call succeeds, launches nothing and counts nothing.
 */
typedef struct spark_kv_append_args {
    spark_args hdr;
    /* [T, H, D], F32 F16 BF16 E4M3 E5M2 E2M1 UE4M3. Keys of the new tokens. */
    spark_tensor k;
    /* [T, H, D], as k. Values of the new tokens. */
    spark_tensor v;
    /* [T], I32 I64. With batch: the row of the token in its sequence. Without: its slot, b * S + s. Negative: skip
       the token. */
    spark_tensor positions;
    /* optional, [T], I32 I64. The sequence of each token. Negative: skip the token. Absent: positions are slots. */
    spark_tensor batch;
    /* updated, [B, S, H, D], as k E4M3 E5M2 E2M1, quant TENSOR ROW HEAD BATCH_HEAD NVFP4. The keys of all sequences,
       of k's type or codes; rows that no token names stay as they are. */
    spark_tensor k_cache;
    /* updated, [B, S, H, D], as k_cache, quant TENSOR ROW HEAD BATCH_HEAD NVFP4. The values of all sequences, of the
       keys' type. */
    spark_tensor v_cache;
    /* updated, [1], I32. Counts the tokens whose row is outside the cache. */
    spark_tensor invalid_count;
    /* optional, [R, M], I32, needs batch. Pages of each sequence, in order; k_cache and v_cache are B pages of S
       rows. */
    spark_tensor block_table;
    /* optional, [I], I32, needs batch and kv_indices. First entry of each sequence in kv_indices, and the end of the
       last. */
    spark_tensor kv_indptr;
    /* optional, [E], I32, needs kv_indptr. Pages of all sequences, one sequence after the other. Then block_table is
       not looked at. */
    spark_tensor kv_indices;
} spark_kv_append_args;
/* Launches kv_append: spark_op_launch with typed arguments. hdr.op may be 0 here. */
SPARK_API spark_status spark_kv_append(spark_context *ctx, const spark_kv_append_args *args, const spark_exec *exec,
                                       spark_error *err);

/* An activation function of every element.
 *
 * y = round(act(x))
 *
 * round() rounds to nearest even to the dtype of x; before it everything is FP32.
 * NaN gives NaN. As the definitions have it, -infinity gives NaN in SILU and both GELUs, 0 in both RELUs. SILU and
 * GELU_TANH may give 0 where the result is below 1.2e-36. SOFTCAP takes numbers smoothly into -cap to cap, infinity to
 * cap, as models cap their logits.
 * The dimensions of x and y must collapse to at most two row dimensions with one stride each, and columns.
 * All kernels give the same bits, and each element's follow from its own inputs alone: SPARK_FLAG_BATCH_INVARIANT, over
 * any strides and alignment, changes nothing.
 * A problem with a zero dimension succeeds and launches nothing.
 */
typedef struct spark_activation_args {
    spark_args hdr;
    /* [..., N], F32 F16 BF16. The arguments. */
    spark_tensor x;
    /* output, [..., N], as x, may be x, in place. The results. */
    spark_tensor y;
    /* spark_activation_kind. The function. NONE copies. */
    uint32_t activation;
    /* 0. */
    uint32_t reserved;
    /* With SOFTCAP: the bound of its results, from 2^-20 to 2^20; else 0. */
    float cap;
    /* 0. */
    uint32_t reserved2;
} spark_activation_args;
/* Launches activation: spark_op_launch with typed arguments. hdr.op may be 0 here. */
SPARK_API spark_status spark_activation(spark_context *ctx, const spark_activation_args *args, const spark_exec *exec,
                                        spark_error *err);

/* Flags of glu, beside spark_flag. */
typedef enum spark_glu_flag {
    SPARK_GLU_ROUND_ACTIVATION = 256, /* round act(gate) before the product */
    SPARK_GLU_FLAG_FORCE32 = 0x7fffffff
} spark_glu_flag;

/* Gated linear unit: an activation of one tensor times another, as in SwiGLU and GEGLU.
 *
 * t = act(gate)
 * t = ROUND_ACTIVATION ? round(t) : t
 * y = round(t * up)
 *
 * round() rounds to nearest even to the dtype of gate; before it everything is FP32.
 * Packed halves [.., 2D] are two views of shape [.., D] with the row stride 2D: gate begins at the first element and
 * up D elements further on, or the other way round where a model stores up before gate. y may be either view, in place.
 * Gate and up that alternate element by element are not taken: the innermost stride is 1.
 * NaN, infinity and small results are as in the operator activation; 0 times infinity is NaN.
 * Codes: y may be quantised, in one of the forms below. Then it is what quantize makes of t * up in FP32, with an
 * amax_floor of 0 and the rule USUAL: scales of ROW, 1X128 and MXFP8 are written, in rows or in tiles, as y.quant says;
 * that of TENSOR is given, and read. What has a NaN has the scale NaN. y is not in place then, and the leading
 * dimensions of all and those of the scales collapse as in quantize.
 * The dimensions of the tensors must collapse together to at most two row dimensions with one stride each, and columns.
 * All kernels give the same bits, and each element's follow from its own inputs alone: SPARK_FLAG_BATCH_INVARIANT, over
 * any strides and alignment, changes nothing.
 * A problem with a zero dimension succeeds and launches nothing.
 */
typedef struct spark_glu_args {
    spark_args hdr;
    /* [..., N], F32 F16 BF16. The arguments of the activation. */
    spark_tensor gate;
    /* [..., N], as gate. The factors. */
    spark_tensor up;
    /* output, [..., N], as gate E4M3 E5M2 I8, quant TENSOR ROW 1X128 MXFP8, may be gate or up, in place. The results,
       or codes of them; their scales are an output too, but for that of TENSOR. */
    spark_tensor y;
    /* spark_activation_kind. The function of gate. NONE: y = gate * up. */
    uint32_t activation;
    /* 0. */
    uint32_t reserved;
    /* With SOFTCAP: the bound of its results, from 2^-20 to 2^20; else 0. */
    float cap;
    /* 0. */
    uint32_t reserved2;
} spark_glu_args;
/* Launches glu: spark_op_launch with typed arguments. hdr.op may be 0 here. */
SPARK_API spark_status spark_glu(spark_context *ctx, const spark_glu_args *args, const spark_exec *exec,
                                 spark_error *err);

/* The sum of two tensors, such as a residual stream and what a layer adds to it.
 *
 * y = round(a + b)
 *
 * The sum is one FP32 addition; round() rounds it to nearest even to the dtype of a. Nothing is broadcast.
 * The dimensions of the tensors must collapse together to at most two row dimensions with one stride each, and columns.
 * All kernels give the same bits, and each element's follow from its own inputs alone: SPARK_FLAG_BATCH_INVARIANT, over
 * any strides and alignment, changes nothing.
 * A problem with a zero dimension succeeds and launches nothing.
 */
typedef struct spark_add_args {
    spark_args hdr;
    /* [..., N], F32 F16 BF16. One addend. */
    spark_tensor a;
    /* [..., N], as a. The other. */
    spark_tensor b;
    /* output, [..., N], as a, may be a or b, in place. The sum. */
    spark_tensor y;
} spark_add_args;
/* Launches add: spark_op_launch with typed arguments. hdr.op may be 0 here. */
SPARK_API spark_status spark_add(spark_context *ctx, const spark_add_args *args, const spark_exec *exec,
                                 spark_error *err);

/* Flags of softmax, beside spark_flag. */
typedef enum spark_softmax_flag {
    SPARK_SOFTMAX_LOG = 256, /* the logarithm of the softmax */
    SPARK_SOFTMAX_FLAG_FORCE32 = 0x7fffffff
} spark_softmax_flag;

/* Bits of hdr.given in softmax: the field counts even where it is 0. */
typedef enum spark_softmax_given {
    SPARK_SOFTMAX_GIVEN_SCALE = 1, /* else 0 is 1 */
    SPARK_SOFTMAX_GIVEN_FORCE32 = 0x7fffffff
} spark_softmax_given;

/* Softmax over the last dimension, or its logarithm.
 *
 * s = scale * x                              scale 0 = 1
 * y = round(exp(s) / sum(exp(s)))            sum over the last dimension
 * LOG:  y = round(s - ln(sum(exp(s))))
 *
 * round() rounds to nearest even to the dtype of x. FP32 throughout, with the largest s of the row subtracted first, so
 * that no exponential overflows; those below 2^-126 of the largest count as 0. No finite x overflows on the way to y.
 * A row with a NaN, with an infinity that scale makes positive, or of nothing but negative infinities is NaN, as in
 * PyTorch; a single negative infinity gives 0, or negative infinity with LOG. Attention, whose fully masked rows are 0,
 * differs.
 * The bits of a row follow from its values, N, the dtypes and the options, whatever the other rows are: all kernels are
 * deterministic, and up to 2^31 - 1 rows every call keeps SPARK_FLAG_BATCH_INVARIANT, with or without it. Where N is
 * a multiple of 8 they also follow from whether all addresses and row strides are multiples of 16 bytes: if one is not,
 * sums are added in another order. Keep one layout where bits are compared.
 * The leading dimensions of each tensor must collapse to at most two row dimensions with one stride each. y may be x
 * in place. A problem with a zero dimension succeeds and launches nothing.
 */
typedef struct spark_softmax_args {
    spark_args hdr;
    /* [..., N], F32 F16 BF16. The rows. */
    spark_tensor x;
    /* output, [..., N], as x, may be x, in place. The result. */
    spark_tensor y;
    /* 0 that is not marked as given is 1. Factor of x, such as the inverse of a temperature; at most 2^126 in
       magnitude. With 0 all finite x count the same, and infinite ones as they are. */
    float scale;
    /* 0. */
    uint32_t reserved;
} spark_softmax_args;
/* Launches softmax: spark_op_launch with typed arguments. hdr.op may be 0 here. */
SPARK_API spark_status spark_softmax(spark_context *ctx, const spark_softmax_args *args, const spark_exec *exec,
                                     spark_error *err);

/* Copies a tensor to another type, another layout, or both.
 *
 * y[i, j, ...] = round(x[i, j, ...])
 *
 * round() is to the dtype of y, to nearest even; beyond the largest finite number it is infinity: nothing is clamped.
 * NaN stays NaN; between equal dtypes every bit is copied.
 * Strides are free in both, so that a transposition is a cast whose x has its strides, and shape, exchanged.
 * All kernels give the same bits, and each element's follow from its own inputs alone: SPARK_FLAG_BATCH_INVARIANT, over
 * any strides and alignment, changes nothing.
 * A problem with a zero dimension succeeds and launches nothing.
 */
typedef struct spark_cast_args {
    spark_args hdr;
    /* [...], F32 F16 BF16. What is copied. */
    spark_tensor x;
    /* output, [...], F32 F16 BF16. The copy. */
    spark_tensor y;
} spark_cast_args;
/* Launches cast: spark_op_launch with typed arguments. hdr.op may be 0 here. */
SPARK_API spark_status spark_cast(spark_context *ctx, const spark_cast_args *args, const spark_exec *exec,
                                  spark_error *err);

/* The numbers of a quantised tensor, or of records as GGUF files hold them, in a floating-point type.
 *
 * scales beside     scale (F32, UE8M0), q (E4M3; of F32 scales E5M2, I8 too)   y[i] = round(scale * q[i])
 * MXFP6             scale (UE8M0), q (E2M3, E3M2)  y[i] = round(scale * q[i])
 * MXFP4             scale (UE8M0), q (E2M1)        y[i] = round(scale * q[i])
 * MXINT8            scale (UE8M0), q (I2F6)        y[i] = round(scale * q[i])
 * NVFP4             scale (UE4M3), q (E2M1)        y[i] = round(global_scale * scale * q[i])
 * INT4_32 .. _128   scale (F16, BF16, F32), q (I4, U4), zero (U4)
 *                                                  y[i] = round(scale * (q[i] - zero))
 * NF4_64            scale (F16, BF16, F32), q (NF4)  y[i] = round(scale * table[q[i]])
 * Q8_0, 34 bytes    d (F16), q[32] (I8)            y[i] = round(d * q[i])
 * Q4_1, 20 bytes    d, m (F16), b[16] (U8)         y[i] = round(d * q[i] + m)
 *                   q[i] = b[i] % 16, q[i + 16] = b[i] / 16     for i < 16
 * other records     d, m, q as docs/layouts.md has them            y[i] = round(d * q[i]) or round(d * q[i] + m)
 *
 * x is codes with x.quant one of the forms below and N = R, or U8 and records. I2F6 is a byte in two's complement, as
 * q / 64.
 * Either way: round() is one rounding of the exact value to the dtype of y, to nearest even; beyond the largest
 * finite number it is infinity. What has a NaN scale is NaN. NVFP4: global_scale is one number, without it 1; the
 * highest bit of a scale is not looked at; rows begin on whole bytes, so that strides of E2M1, I4 and U4 are even and
 * those of E2M3 and E3M2 multiples of 4; the last block of a row may be shorter. INT4: zero is the zero_point of the
 * block, as it is stored, at the strides of the scales, and 0 without them; I4 is -8 to 7. NF4: the first of two
 * codes stands in the upper half of its byte, and table[0] to table[15] are -1, -0.6961928009986877,
 * -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0,
 * 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224, 0.44070982933044434,
 * 0.5626170039176941, 0.7229568362236023 and 1, all of F32. Scales in TILED_128X4 have their tiles along the last two
 * dimensions, and 128X128 and 32X32 their blocks, of which the last down the rows may be shorter too; dimensions before
 * those two collapse to one.
 * A record holds 32 elements of a row, 64 (GGUF_NVFP4) or 256 (names with a K, IQ4_XS), so that N is a multiple of that
 * and R so many records of the format's bytes, as spark_op_form says them. Of GGUF_NVFP4 a NaN scale is 0, as in GGML.
 * What is in no form is refused by the name that it has in GGUF: IQ1, IQ2 and IQ3, TQ1 and TQ2, Q8_1 and Q8_K; and
 * zeros that are numbers, as HQQ has them. EXL3's trellises have no codes beside scales: no field can be told of them.
 * x.quant.scheme is SPARK_QUANT_RECORD, x.quant.record the format, a spark_record; all else of x.quant is 0.
 * Records may begin at any byte; the row strides of x, of its scales and of y are free as long as the leading
 * dimensions collapse to at most two with one stride each.
 * All kernels give the same bits, and each number's follow from itself and its scale, or its record, alone:
 * SPARK_FLAG_BATCH_INVARIANT, over any strides and alignment, changes nothing.
 * A problem with a zero dimension succeeds and launches nothing.
 */
typedef struct spark_dequantize_args {
    spark_args hdr;
    /* [..., R], U8 E4M3 E5M2 I8 E2M3 E3M2 E2M1 I2F6 I4 U4 NF4, quant Q8_0 Q4_1 Q4_0 Q5_0 Q5_1 Q2_K Q3_K Q4_K Q5_K
       Q6_K IQ4_NL IQ4_XS GGUF_MXFP4 GGUF_NVFP4 TENSOR ROW 1X128 128X128 32X32 MXFP8 MXFP6 MXFP4 MXINT8 NVFP4 INT4_32
       INT4_64 INT4_128 NF4_64. Rows of records, in bytes, or of codes with scales. */
    spark_tensor x;
    /* output, [..., N], F32 F16 BF16. The numbers. */
    spark_tensor y;
} spark_dequantize_args;
/* Launches dequantize: spark_op_launch with typed arguments. hdr.op may be 0 here. */
SPARK_API spark_status spark_dequantize(spark_context *ctx, const spark_dequantize_args *args, const spark_exec *exec,
                                        spark_error *err);

/* The largest magnitude of each row, and of all of them.
 *
 * y[i, 0] = max over j of |x[i, j]|
 * all[0]  = max over i of y[i, 0]
 *
 * What scales of quantised tensors are made of. Blocks of B along a row are the rows of a view [..., N / B, B].
 * A row that holds a NaN has the amax NaN; infinity counts as a number. All results are exact, so that every kernel
 * gives the same bits, and SPARK_FLAG_BATCH_INVARIANT, over any strides and alignment, changes nothing.
 * The row strides of x are free as long as its leading dimensions collapse to at most two with one stride each.
 * A problem with a zero dimension succeeds and launches nothing.
 */
typedef struct spark_amax_args {
    spark_args hdr;
    /* [..., N], F32 F16 BF16. Rows of numbers. */
    spark_tensor x;
    /* output, [..., 1], F32. The largest magnitude of each row. */
    spark_tensor y;
    /* output, optional, [1], F32. The largest magnitude of the tensor. */
    spark_tensor all;
} spark_amax_args;
/* Launches amax: spark_op_launch with typed arguments. hdr.op may be 0 here. */
SPARK_API spark_status spark_amax(spark_context *ctx, const spark_amax_args *args, const spark_exec *exec,
                                  spark_error *err);

/* Flags of quantize, beside spark_flag. */
typedef enum spark_quantize_flag {
    SPARK_QUANTIZE_OWN_AMAX = 256,   /* the scale of all is made of the amax of x */
    SPARK_QUANTIZE_STOCHASTIC = 512, /* codes are rounded up or down at random, by seed and offset */
    SPARK_QUANTIZE_FLAG_FORCE32 = 0x7fffffff
} spark_quantize_flag;

/* A tensor in a quantised format, and the scales that belong to it.
 *
 * scale = max(max |x[i]|, amax_floor) / largest  over the i that share the scale; of E4M3 448, E5M2 57344, I8 127
 *       = the same, rounded to F16 or BF16       INT4 with such scales; of I4 7, of NF4 1
 *       = 2^(floor(log2(max |x[i]|)) - 8)        MXFP8, from 2^-127 on; MXFP4, E2M3 - 2, E3M2 - 4, MXINT8 - 0
 *       = |sat(max |x[i]| / (6 * global_scale))| NVFP4, global_scale = amax of all / 2688, given, or 1
 * y[i]  = sat(x[i] / scale)                      x[i] / infinity where the scale is 0
 *       = how many middles are less than that    NF4: (table[j] + table[j + 1]) / 2, rounded to F32, j from 0 to 14
 *       = sat(x[i] / (scale * global_scale))     NVFP4, and likewise
 * Q8_0              d = max |x[i]| / 127         q[i] = round(x[i] * (1 / d)), halves away from 0
 * Q4_0, Q5_0        d = x[k] / -8, / -16         q[i] = min(floor(x[i] * (1 / d) + 8.5), 15), of Q5_0 + 16.5, 31
 *                   k the first of the largest magnitude
 * Q4_1, Q5_1        m = min x[i]                 q[i] = min(floor((x[i] - m) * (1 / d) + 0.5), 15), of Q5_1 31
 *                   d = (max x[i] - m) / 15, / 31
 *
 * y.quant is one of the forms below. Of records it says all; else it tells where the scales are written, a second
 * output, whose scales may stand in any place of their own. The scale of all, that of TENSOR and NVFP4's global_scale,
 * is made of an amax and written: of the field amax, which the operator amax gives, or with OWN_AMAX of that of x, in
 * this call, which then has more launches and a workspace. With neither it is given, and read; an absent global_scale
 * is 1.
 * Each step is one operation of FP32, to nearest even: a quotient is rounded to F32, then to the format, to nearest
 * even; so are the products 6 * global_scale, in whose place infinity stands if it is 0, and scale * global_scale.
 * sat() takes what is beyond the format's largest number (that of a scale, 448 of UE4M3, 6 of E2M1), and infinity, to
 * that, in E2M3 to 7.5, in E3M2 to 28, in I8 and I2F6 of either sign to 127 and 127 / 64, in I4 to 7. NaN is 0x7F;
 * where there is none it is that number in E2M1, E2M3 and E3M2, and 0 in I8, I2F6, I4 and NF4, of which 0 is -1. The
 * scale of a block with a NaN is NaN, and so is all that it belongs to.
 * INT4, and NF4 in all that is said of it: there are no zeros; a scale beyond F16 is infinity, and one that F16 or
 * BF16 has no number for is 0.
 * F32 scales, and those of INT4: that of a block with an infinity is infinity: finite numbers become 0 and the
 * infinite ones NaN. A block of zeros has the scale amax_floor / largest, and zeros. amax_floor is 0 or more;
 * DeepSeek's act_quant takes 1e-4.
 * rule: FLOOR, RCEIL and EVEN are for OCP's formats (MX..); RCEIL with F32 scales, but for INT4, takes max(amax,
 * amax_floor) / largest, as it is rounded to F32, up to a power of two from 2^-126 on; 0, infinity and NaN stay.
 * FOUR_OVER_SIX is for NVFP4: a block takes 4 in the place of 6 where the sum of (x[i] - y[i] * (scale *
 * global_scale))^2 is less so; differences are rounded to F32 once, and so are squares and their sums: of neighbours,
 * then of neighbouring sums, 16 with zeros for what is not there. Beyond F32, or with a NaN, it is 6. All else is
 * refused.
 * STOCHASTIC: where the quotient in F32 lies between two neighbours of the format, it becomes the greater magnitude
 * with the probability f = (|quotient| - less) / (greater - less), and else the lesser one; numbers of the format,
 * what is beyond them, NaN, signs and scales are as without it. With the random number w of 16 bits it is the greater
 * if w + floor(2^16 f) >= 2^16. Element i, counted from 0 over the shape of x, row-major, takes the 16 bits i % 8, of
 * each word the lower ones first, of Philox4x32-10 with the key (seed, low word first) and the counter (offset low
 * word, offset high word, i / 8 low word, i / 8 high word): as sample does with i / 8 for the row. So what an element
 * takes depends on its number alone, not on layout, strides or kernel. Offsets are not advanced: give each call of a
 * seed its own. Not with records, INT4 and FOUR_OVER_SIX. Without it seeds, offsets, seed and offset count for nothing.
 * OCP's formats: amax_floor is 0; infinity counts as 2^128, so that it becomes the largest number, and the largest
 * scale is 2^127; a block with a NaN has the scale 0xFF; a block of zeros has the scale 2^-127. NVFP4: amax_floor is
 * 0; a block with an infinity has the scale 448 if global_scale is finite; a block of zeros has the scale 0. Rows begin
 * on whole bytes, so that the strides of y are even, of E2M1, I4 and NF4, or multiples of 4, of E2M3 and E3M2; bits of
 * a row's last byte behind its codes are 0. A last block may be shorter.
 * TILED_128X4: tiles along the last two dimensions; those before them collapse to one. What fills up the last tiles,
 * in rows and in columns, is written as bytes of 0.
 * Records: N is a multiple of 32; y is U8, rows of whole records as dequantize reads them, y.quant.scheme is
 * SPARK_QUANT_RECORD and y.quant.record the format; amax, amax_floor and rule are absent, 0 and USUAL. The bytes are
 * those of the gguf package: each step is one operation of FP32, to nearest even, codes are made with 1 / d of the d of
 * FP32, and d and m are rounded to F16 as they are stored. Where gguf says nothing: an infinite 1 / d, that of a d of 0
 * or below 2^-128, is 0; a q that would be NaN is 0; no m, and no d beside one, is -0; a record with a NaN has the d
 * NaN, and the m too, so that all that it stands for is NaN; infinity counts as a number, and d is infinite then.
 * All kernels give the same bits, and each number's follow from its block and the scale of all alone:
 * SPARK_FLAG_BATCH_INVARIANT, over any strides and alignment, changes nothing.
 * The row strides of x, y and the scales are free as long as the leading dimensions collapse to at most two with one
 * stride each. A problem with a zero dimension succeeds and launches nothing.
 */
typedef struct spark_quantize_args {
    spark_args hdr;
    /* [..., N], F32 F16 BF16. The numbers. */
    spark_tensor x;
    /* output, [..., N], E4M3 E5M2 I8 U8 E2M3 E3M2 E2M1 I2F6 I4 NF4, quant TENSOR ROW 1X128 MXFP8 MXFP6 MXFP4 MXINT8
       NVFP4 INT4_32 INT4_64 INT4_128 NF4_64 Q8_0 Q4_0 Q4_1 Q5_0 Q5_1. The same, quantised; its scales are an output
       too. Of records the last dimension counts bytes. */
    spark_tensor y;
    /* optional, [1], F32. The amax that the scale of all is made of; absent: that scale is read, or made with
       OWN_AMAX. */
    spark_tensor amax;
    /* The least amax that a scale is made of. */
    float amax_floor;
    /* spark_scale_rule. How scales are made. */
    uint32_t rule;
    /* optional, [1], I64 U64. In place of seed, read when the work runs. */
    spark_tensor seeds;
    /* optional, [1], I64 U64. In place of offset, likewise. */
    spark_tensor offsets;
    /* Key of the random numbers of STOCHASTIC. */
    uint64_t seed;
    /* Which of the seed's random numbers: another one for each call. */
    uint64_t offset;
} spark_quantize_args;
/* Launches quantize: spark_op_launch with typed arguments. hdr.op may be 0 here. */
SPARK_API spark_status spark_quantize(spark_context *ctx, const spark_quantize_args *args, const spark_exec *exec,
                                      spark_error *err);

/* Flags of hadamard, beside spark_flag. */
typedef enum spark_hadamard_flag {
    SPARK_HADAMARD_SIGNS_AFTER = 256, /* signs count after the transform, not before it */
    SPARK_HADAMARD_FLAG_FORCE32 = 0x7fffffff
} spark_hadamard_flag;

/* Bits of hdr.given in hadamard: the field counts even where it is 0. */
typedef enum spark_hadamard_given {
    SPARK_HADAMARD_GIVEN_SCALE = 1, /* else 0 is P^-0.5 */
    SPARK_HADAMARD_GIVEN_FORCE32 = 0x7fffffff
} spark_hadamard_given;

/* Hadamard transform of blocks of neighbours, with signs before or after: spreads outliers ahead of quantisation.
 *
 * H[i, j] = (-1)^popcount(i & j)             i, j < P: the natural (Sylvester) order, H H = P
 * x' = x[b P .. b P + P - 1]                 block b of a row, P = size
 * y' = round(scale * (H (signs * x')))       without signs: 1
 * SIGNS_AFTER:  y' = round(signs * (scale * (H x')))
 *
 * round() is to the dtype of x, to nearest even. Sums are FP32, in a tree of log2(P) additions; where a sum on the way
 * is beyond FP32 the result is infinity or NaN. Infinities and NaN in x reach every element of their block.
 * With the default scale P^-0.5 the transform is orthogonal, and its own inverse: what was made with signs of 1 and -1
 * is undone by the same call with SIGNS_AFTER. signs are any numbers; models draw 1 or -1 at random.
 * All kernels add in the same tree, and a block's bits follow from its own inputs alone: SPARK_FLAG_BATCH_INVARIANT,
 * over any strides and alignment, changes nothing.
 * The leading dimensions of x and y must collapse to at most two row dimensions with one stride each. y may be x in
 * place. A problem with a zero dimension succeeds and launches nothing.
 */
typedef struct spark_hadamard_args {
    spark_args hdr;
    /* [..., N], F32 F16 BF16. The rows; N is a multiple of P. */
    spark_tensor x;
    /* optional, [P], as x. A factor for each element of a block, the same for all blocks. */
    spark_tensor signs;
    /* output, [..., N], as x, may be x, in place. The result. */
    spark_tensor y;
    /* P: how many neighbours are transformed together: 16, 32, 64, 128 or 256. */
    uint32_t size;
    /* 0 that is not marked as given is P^-0.5. Factor of the sums; finite. */
    float scale;
} spark_hadamard_args;
/* Launches hadamard: spark_op_launch with typed arguments. hdr.op may be 0 here. */
SPARK_API spark_status spark_hadamard(spark_context *ctx, const spark_hadamard_args *args, const spark_exec *exec,
                                      spark_error *err);

/* Results of attention over pieces of the keys, put together by their lse: cascades, shared prefixes, ring steps.
 *
 * s[i]   = x_lse[i], i < P, and more_lse as s[P]     states of one row, v[i] = x[i], and more as v[P]
 * y_lse  = log(sum_i exp(s[i]))                      natural logarithm
 * y      = round(sum_i exp(s[i] - y_lse) * v[i])
 *
 * A state is what attention gives: a row of o and its lse. x holds P of them for each row, one behind the other at its
 * first stride; more is one more, in a tensor of its own: the second of two, or the running one of a ring, which y and
 * y_lse may replace in place. P may be 0. If sinks count, only one of the calls whose states are merged may have them.
 *
 * Sums are FP32, in the order of i with more first, whatever the other rows are, so that SPARK_FLAG_BATCH_INVARIANT,
 * over any strides and alignment, changes nothing; another order of the states may change the last bits.
 * A state with the lse -infinity counts for nothing, and its v is not read; a row that has no other gives y = 0 and
 * y_lse = -infinity. An lse of infinity or NaN makes the row NaN. An infinity or a NaN in v reaches the same element
 * of its row alone; in a state whose lse is 87 or more below the largest, infinity may become NaN.
 * All strides but the last of x, more and y, which is 1, are free. Where y and y_lse have no elements the call launches
 * nothing.
 */
typedef struct spark_merge_states_args {
    spark_args hdr;
    /* [P, B, S, H, D], F32 F16 BF16. Results over P pieces of the keys. */
    spark_tensor x;
    /* [P, B, S, H], F32. Their logarithms of the sum of exponentials, natural. */
    spark_tensor x_lse;
    /* optional, [B, S, H, D], as x. The result over one more piece. */
    spark_tensor more;
    /* optional, [B, S, H], F32, needs more. Its logarithm; more needs it too. */
    spark_tensor more_lse;
    /* output, [B, S, H, D], as x, may be more, in place. The result over all of the keys. */
    spark_tensor y;
    /* output, optional, [B, S, H], F32, may be more_lse, in place. Its logarithm. Absent: not stored. */
    spark_tensor y_lse;
} spark_merge_states_args;
/* Launches merge_states: spark_op_launch with typed arguments. hdr.op may be 0 here. */
SPARK_API spark_status spark_merge_states(spark_context *ctx, const spark_merge_states_args *args,
                                          const spark_exec *exec, spark_error *err);

/* Copies the keys and values of tokens out of their rows of a cache: kv_append, the other way.
 *
 * b, s = batch[t], positions[t]                          with batch
 *        positions[t] / S, positions[t] % S              without: positions are slots
 * with block_table: b, s = block_table[batch[t], positions[t] / S], positions[t] % S
 * with kv_indices:  b, s = kv_indices[kv_indptr[batch[t]] + positions[t] / S], positions[t] % S
 * positions[t] < 0 or batch[t] < 0:  the token is skipped; k[t] and v[t] stay as they are
 * 0 <= b < B and 0 <= s < S:         k[t] = k_cache[b, s];  v[t] = v_cache[b, s]
 * otherwise:                         invalid_count += 1;  k[t] and v[t] stay as they are
 *
 * The fields are those of kv_append, in the same order, and name the same rows: what it wrote comes out as it was.
 * All strides but the innermost are free: [B, H, S, D] in memory is a matter of them.
 * Positions, slots and batch indices are read when the work runs: a captured graph stays valid as sequences grow.
 * Tokens may name the same row, in any order; k and v must not overlap the caches.
 * invalid_count is counted up, not set: clear it first.
 * A row follows from its token alone: SPARK_FLAG_BATCH_INVARIANT changes nothing.
 * Where k and v are of the caches' type, bits are moved, and quant of all tensors is 0: codes without their scales.
 * Of E2M1, two in a byte, D and all strides but the last are even.
 * Caches of codes, whose scales k_cache.quant and v_cache.quant say as for kv_append, and k and v of F32, F16 or BF16:
 * the numbers are those that dequantize makes of the codes, rounded once, to the bit; without quant, the codes'. H and
 * D are below 2^31 then.
 * Where k has no elements the call succeeds, launches nothing and counts nothing.
 */
typedef struct spark_kv_gather_args {
    spark_args hdr;
    /* updated, [T, H, D], F32 F16 BF16 E4M3 E5M2 E2M1 UE4M3. Keys of the tokens; those that name no row stay as they
       are. */
    spark_tensor k;
    /* updated, [T, H, D], as k. Values of the tokens. */
    spark_tensor v;
    /* [T], I32 I64. With batch: the row of the token in its sequence. Without: its slot, b * S + s. Negative: skip
       the token. */
    spark_tensor positions;
    /* optional, [T], I32 I64. The sequence of each token. Negative: skip the token. Absent: positions are slots. */
    spark_tensor batch;
    /* [B, S, H, D], as k E4M3 E5M2 E2M1, quant TENSOR ROW HEAD BATCH_HEAD NVFP4. The keys of all sequences, of k's
       type or codes. */
    spark_tensor k_cache;
    /* [B, S, H, D], as k_cache, quant TENSOR ROW HEAD BATCH_HEAD NVFP4. The values of all sequences, of the keys'
       type. */
    spark_tensor v_cache;
    /* updated, [1], I32. Counts the tokens whose row is outside the cache. */
    spark_tensor invalid_count;
    /* optional, [R, M], I32, needs batch. Pages of each sequence, in order; k_cache and v_cache are B pages of S
       rows. */
    spark_tensor block_table;
    /* optional, [I], I32, needs batch and kv_indices. First entry of each sequence in kv_indices, and the end of the
       last. */
    spark_tensor kv_indptr;
    /* optional, [E], I32, needs kv_indptr. Pages of all sequences, one sequence after the other. Then block_table is
       not looked at. */
    spark_tensor kv_indices;
} spark_kv_gather_args;
/* Launches kv_gather: spark_op_launch with typed arguments. hdr.op may be 0 here. */
SPARK_API spark_status spark_kv_gather(spark_context *ctx, const spark_kv_gather_args *args, const spark_exec *exec,
                                       spark_error *err);

/* Copies whole pages, or sequences, of a cache by a list of pairs: copy on write, moves, beams in another order.
 *
 * from, to = pairs[n, 0], pairs[n, 1]
 * from < 0 or to < 0:       the pair is skipped
 * from < C and to < B:      k_cache[to] = k_from[from];  v_cache[to] = v_from[from]
 * otherwise:                invalid_count += 1;  nothing is written
 * k_from, v_from absent:    k_cache, v_cache and B instead of them and C
 *
 * A page is [S, H, D]: where a cache has sequences instead of pages, a sequence.
 * Elements are copied bit by bit. All strides but the innermost are free, those of both caches independently.
 * Pairs are read when the work runs, and copied in no order: what a pair writes must be no other pair's source or
 * destination; a source may stand in many. Beams that change places are copied by k_from and v_from, or to free pages.
 * k_from and v_from must not overlap k_cache and v_cache; for copies within a cache leave them out.
 * invalid_count is counted up, not set: clear it first.
 * Bits are moved, never computed: SPARK_FLAG_BATCH_INVARIANT changes nothing.
 * Codes of E4M3, E5M2 and E2M1 are copied without their scales: quant of all tensors is 0. Scales that belong to pages
 * or tokens are copied by a call of their own with the same pairs, of a cache of F32, [B, S, H, 1] of ROW and
 * [B, 1, H, 1] of BATCH_HEAD, or of UE4M3, [B, S, H, D / 16] of NVFP4. Of E2M1, two in a byte, D and all strides but
 * the last are even.
 * Where there are no pairs, or a page has no elements, the call succeeds, launches nothing and counts nothing.
 */
typedef struct spark_kv_copy_args {
    spark_args hdr;
    /* [N, 2], I32 I64. From and to of each pair: pages, or sequences, of the caches. Negative: skip the pair. */
    spark_tensor pairs;
    /* updated, [B, S, H, D], F32 F16 BF16 E4M3 E5M2 E2M1 UE4M3. The keys; pages that no pair writes stay. */
    spark_tensor k_cache;
    /* updated, [B, S, H, D], as k_cache. The values. */
    spark_tensor v_cache;
    /* updated, [1], I32. Counts the pairs of which a page is outside its cache. */
    spark_tensor invalid_count;
    /* optional, [C, S, H, D], as k_cache, needs v_from. The keys that are copied. Absent: k_cache. */
    spark_tensor k_from;
    /* optional, [C, S, H, D], as k_cache, needs k_from. The values that are copied. Absent: v_cache. */
    spark_tensor v_from;
} spark_kv_copy_args;
/* Launches kv_copy: spark_op_launch with typed arguments. hdr.op may be 0 here. */
SPARK_API spark_status spark_kv_copy(spark_context *ctx, const spark_kv_copy_args *args, const spark_exec *exec,
                                     spark_error *err);

/* Codes of four bits out of words of 32 bits, as checkpoints of AWQ and GPTQ hold them, in the order of U4 and I4.
 *
 * y[r, w, column(i)] = (x[r, w] / 2^(4 i) + plus) % 16        i = 0 .. 7
 * column(i) = i                        LINEAR
 *           = (0 2 4 6 1 3 5 7)[i]     INTERLEAVED
 *
 * x is words whose bits alone count, at any strides. y has stride 1 in its last dimension or in its first, in which
 * codes lie two to a byte, the one with the smaller index in the lower half; its other strides are even. Where they
 * lie so along R and that is odd, the other half of each last byte is 0.
 * So words of a matrix [K, N] become the weights [N, K] of gemm where y is [K, N / 8, 8] with the strides {1, 8 pitch,
 * pitch}.
 * plus makes of a zero that is kept less 1, as in most of GPTQ's files, that zero (1; 15 is then 0), and of codes that
 * are kept with 8 added I4 (8). For what else these files hold, see docs/layouts.md.
 * Bits are moved, and added to exactly: SPARK_FLAG_BATCH_INVARIANT changes nothing.
 * A problem with a zero dimension succeeds and launches nothing.
 */
typedef struct spark_repack_args {
    spark_args hdr;
    /* [R, W], I32 U32. The words. */
    spark_tensor x;
    /* output, [R, W, 8], U4 I4. The codes. */
    spark_tensor y;
    /* spark_word_order. Where codes stand in a word. */
    uint32_t order;
    /* Added to each code, modulo 16; 0 to 15. */
    uint32_t plus;
} spark_repack_args;
/* Launches repack: spark_op_launch with typed arguments. hdr.op may be 0 here. */
SPARK_API spark_status spark_repack(spark_context *ctx, const spark_repack_args *args, const spark_exec *exec,
                                    spark_error *err);

/* Bits of hdr.given in lora: the field counts even where it is 0. */
typedef enum spark_lora_given {
    SPARK_LORA_GIVEN_SCALE = 1, /* else 0 is 1 */
    SPARK_LORA_GIVEN_FORCE32 = 0x7fffffff
} spark_lora_given;

/* Adds low-rank adapters (LoRA): each row of x its own pair of matrices, chosen by an index.
 *
 * l = index[m]
 * 0 <= l < L:  h[r] = sum_k x[m, k] * a[l, r, k]
 *              y[m, n] = round(scale * sum_r h[r] * b[l, n, r] + c[m, n])
 * otherwise:   y[m, n] = c[m, n]
 *
 * a and b hold L adapters, as PyTorch's lora_A and lora_B have them: shrink, then expand. A row whose index is outside
 * them, usually -1, has no adapter, and nothing is read for it. c is what the layer without adapters has made of x,
 * mostly y itself, in place; without c it is 0. Adapters of a lower rank than R are filled up with zeros in a or in b.
 * R is at most 256.
 * h stays in FP32 and in the kernel: there is one rounding, to nearest even, to the dtype of y. Shrink and expand are
 * one operator, since nobody else reads h, and since the matrix that expands is on its way while h is summed. Where one
 * product feeds several layers (q, k and v), each is a call, with y a slice of their common output, by strides.
 * All strides but the last of a tensor, which is 1, are free; index is packed. Where M or N is 0 the call succeeds and
 * launches nothing; with K or R 0 the sums are 0.
 * The order of sums follows from K, R and the alignment of addresses and strides alone. With
 * SPARK_FLAG_BATCH_INVARIANT the bits of a row of y follow from that row of x and of c, its adapter, these and scale;
 * without it another order may be chosen where M is large.
 */
typedef struct spark_lora_args {
    spark_args hdr;
    /* [M, K], BF16 F16. The rows. */
    spark_tensor x;
    /* [L, R, K], as x. Of each adapter the matrix that shrinks. */
    spark_tensor a;
    /* [L, N, R], as x. Of each adapter the matrix that expands. */
    spark_tensor b;
    /* [M], I32. The adapter of each row; outside 0 to L - 1: none. */
    spark_tensor index;
    /* optional, [M, N], as x. What the adapters are added to. Absent: 0. */
    spark_tensor c;
    /* output, [M, N], as x, may be c, in place. The result. */
    spark_tensor y;
    /* 0 that is not marked as given is 1. Factor of the adapters: alpha / R, or 1 where b holds it. */
    float scale;
    /* 0. */
    uint32_t reserved;
} spark_lora_args;
/* Launches lora: spark_op_launch with typed arguments. hdr.op may be 0 here. */
SPARK_API spark_status spark_lora(spark_context *ctx, const spark_lora_args *args, const spark_exec *exec,
                                  spark_error *err);

/* Two of each four neighbours of a row, and which two: the weights of a product with 2:4 sparsity.
 *
 * of x[4 i .. 4 i + 3] the two of the largest magnitude stand at p0 < p1, of equals those that come first
 * y[2 i]     = x[4 i + p0]
 * y[2 i + 1] = x[4 i + p1]
 * kept[i / 2] % 16 = p0 + 4 p1      i even
 * kept[i / 2] / 16 = p0 + 4 p1      i odd, and 0 where there is no such i
 *
 * K is a multiple of 4, H = K / 2 and J = ceil(K / 8). y and kept are what gemm takes for b with
 * SPARK_GEMM_TWO_OF_FOUR. What has two zeros in each four, as weights that were pruned before, stays what it is: the
 * others have no magnitude. A NaN counts as larger than infinity, and of several NaNs the one with the larger bits,
 * sign left out. Bits are moved, those of NaN and -0 too; of FP8 the scales of rows and of all stay what they were, and
 * are gemm's b.quant.
 * Strides between rows are free as long as the leading dimensions collapse to at most two with one stride each. All
 * kernels give the same bits: SPARK_FLAG_BATCH_INVARIANT changes nothing. A problem with a zero dimension succeeds and
 * launches nothing.
 */
typedef struct spark_compress_args {
    spark_args hdr;
    /* [..., K], BF16 F16 E4M3 E5M2. The numbers. */
    spark_tensor x;
    /* output, [..., H], as x. Those that are kept. */
    spark_tensor y;
    /* output, [..., J], U8. Where they stood: four bits for each four of x. */
    spark_tensor kept;
} spark_compress_args;
/* Launches compress: spark_op_launch with typed arguments. hdr.op may be 0 here. */
SPARK_API spark_status spark_compress(spark_context *ctx, const spark_compress_args *args, const spark_exec *exec,
                                      spark_error *err);

/* Flags of delayed_scale, beside spark_flag. */
typedef enum spark_delayed_scale_flag {
    SPARK_DELAYED_SCALE_MOST_RECENT = 256, /* a scale is made of the last amax alone */
    SPARK_DELAYED_SCALE_FLAG_FORCE32 = 0x7fffffff
} spark_delayed_scale_flag;

/* Bits of hdr.given in delayed_scale: the field counts even where it is 0. */
typedef enum spark_delayed_scale_given {
    SPARK_DELAYED_SCALE_GIVEN_LARGEST = 1, /* else 0 is 448 */
    SPARK_DELAYED_SCALE_GIVEN_FORCE32 = 0x7fffffff
} spark_delayed_scale_given;

/* Scales of the amaxes of earlier calls, and their history moved on by one: delayed scaling.
 *
 * last           = amax, or history[0] where that is 0 or absent
 * a              = max(0, last, history[1 .. H - 1]), NaNs left out; last with MOST_RECENT
 * scale          = a / largest        if a is above 0 and finite, else as it was
 * inverse        = largest / a        likewise; at most the largest number of F32
 * history[i]     = history[i + 1]     i = 0 .. H - 2
 * history[H - 1] = last
 * history[0]     = 0
 *
 * Each of the S columns is a tensor's. During a step its codes are made with the scale of the steps before (quantize
 * to TENSOR without amax), and its amax is put where this call finds it: to history[0], by the field all of the
 * operator amax for one, or to amax, as several devices have it after a reduction. One call for all tensors then ends
 * the step. With H 1 the last amax alone counts.
 * largest is that of the codes, 448 of E4M3, 57344 of E5M2, 127 of I8; 2^-m times that leaves a margin of m bits. scale
 * is what codes are multiplied by, as in all operators here; inverse is what numbers are multiplied by elsewhere.
 * Quotients are rounded to F32, to nearest even. All kernels give the same bits, and a column's follow from itself
 * alone: SPARK_FLAG_BATCH_INVARIANT, over any strides, changes nothing. A problem with a zero dimension succeeds and
 * launches nothing.
 */
typedef struct spark_delayed_scale_args {
    spark_args hdr;
    /* updated, [H, S], F32. The amaxes of the last H steps: in row 0 the last, where amax does not say it, behind it
       the others, oldest first. */
    spark_tensor history;
    /* updated, [S], F32. The scales of codes. */
    spark_tensor scale;
    /* updated, optional, [S], F32. Their inverses. */
    spark_tensor inverse;
    /* optional, [S], F32. The last amaxes, in place of history[0] where they are not 0. */
    spark_tensor amax;
    /* 0 that is not marked as given is 448. The largest number of the codes; finite and above 0. */
    float largest;
    /* 0. */
    uint32_t reserved;
} spark_delayed_scale_args;
/* Launches delayed_scale: spark_op_launch with typed arguments. hdr.op may be 0 here. */
SPARK_API spark_status spark_delayed_scale(spark_context *ctx, const spark_delayed_scale_args *args,
                                           const spark_exec *exec, spark_error *err);

/* Flags of rope_append, beside spark_flag. */
typedef enum spark_rope_append_flag {
    SPARK_ROPE_APPEND_INTERLEAVED = 256,     /* pairs are neighbours (2i, 2i + 1), not halves (i, i + R/2) */
    SPARK_ROPE_APPEND_WEIGHT_PLUS_ONE = 512, /* the factors are 1 + weight */
    SPARK_ROPE_APPEND_FLAG_FORCE32 = 0x7fffffff
} spark_rope_append_flag;

/* Bits of hdr.given in rope_append: the field counts even where it is 0. */
typedef enum spark_rope_append_given {
    SPARK_ROPE_APPEND_GIVEN_THETA = 1,      /* else 0 is 10000 */
    SPARK_ROPE_APPEND_GIVEN_EPS = 2,        /* else 0 is 1e-06 */
    SPARK_ROPE_APPEND_GIVEN_ROTARY_DIM = 4, /* else 0 is D, or the width of the table */
    SPARK_ROPE_APPEND_GIVEN_FORCE32 = 0x7fffffff
} spark_rope_append_given;

/* From a projection to attention: norms queries and keys, rotates both, appends keys and values to a cache.
 *
 * p  = positions[t]
 * n(x, w) = x * rsqrt(mean(x * x) + eps) * (WEIGHT_PLUS_ONE ? 1 + w : w)     over a head; without a weight x
 * r(x)    = rope of a head at p, without its round()                         with table or theta, as rope has it
 * q_out[t] = round(r(n(q[t], q_weight)))                                     with q
 * kv_append of r(n(k[t], k_weight)) and v[t] at slots[t]                     without slots: at positions[t]
 *
 * The first fields are those of kv_append and mean what they mean there: which row of which sequence or page a token
 * has, what caches of codes hold, and what invalid_count counts. The norm is rmsnorm's, the rotation rope's. Everything
 * is FP32, and nothing is rounded before it is written: what is cached are the rounded numbers, or the codes that
 * kv_append makes of FP32. So the bits are those of rope with k of F32, then kv_append, where there is no norm; rope of
 * 16 bits, then kv_append, gives them too where caches are of 16 bits. With a norm they are not promised to be those of
 * rmsnorm, which adds squares in an order of its own; and where it writes 16 bits, there is one rounding less here.
 * v is neither normed nor rotated: its bits are moved where the cache has its type.
 *
 * positions are what angles are made of, and, without slots, the rows of tokens too: in their sequences with batch,
 * else in the cache. With slots tokens stand elsewhere: these are kv_append's positions, a row with batch, else
 * b * S + s.
 *
 * q_out is written for every token, also one that is skipped or refused. It may be q, in place. Its codes are E4M3 or
 * E5M2, by one scale that is given, as attention reads them, or without quant by 1. Without q, queries have no part in
 * this.
 * A position outside the table is never followed: the R elements of each head in q_out become NaN, and the token is
 * refused, unless it is skipped: counted once, and not written.
 * D is at most 512, and 496 where R is no multiple of 16. All strides but the innermost are free: slices of a packed
 * projection do as they are.
 * All kernels give the same bits, and a row follows from its token alone, over any strides and alignment:
 * SPARK_FLAG_BATCH_INVARIANT changes nothing.
 * Where k and q have no elements the call succeeds, launches nothing and counts nothing.
 */
typedef struct spark_rope_append_args {
    spark_args hdr;
    /* [T, H, D], F16 BF16. Keys of the new tokens. */
    spark_tensor k;
    /* [T, H, D], as k. Values of the new tokens. */
    spark_tensor v;
    /* [T], I32 I64. The position of each token; without slots its row or slot too, and negative: skip the token. */
    spark_tensor positions;
    /* optional, [T], I32 I64. The sequence of each token. Negative: skip the token. Absent: rows are slots. */
    spark_tensor batch;
    /* updated, [B, S, H, D], as k E4M3 E5M2 E2M1, quant TENSOR ROW HEAD BATCH_HEAD NVFP4. The rotated keys, of k's
       type or codes; rows that no token names stay as they are. */
    spark_tensor k_cache;
    /* updated, [B, S, H, D], as k_cache, quant TENSOR ROW HEAD BATCH_HEAD NVFP4. The values of all sequences, of the
       keys' type. */
    spark_tensor v_cache;
    /* updated, [1], I32. Counts the tokens whose row is outside the cache, or whose position outside the table. */
    spark_tensor invalid_count;
    /* optional, [N, M], I32, needs batch. Pages of each sequence, in order; k_cache and v_cache are B pages of S
       rows. */
    spark_tensor block_table;
    /* optional, [I], I32, needs batch and kv_indices. First entry of each sequence in kv_indices, and the end of the
       last. */
    spark_tensor kv_indptr;
    /* optional, [E], I32, needs kv_indptr. Pages of all sequences, one sequence after the other. Then block_table is
       not looked at. */
    spark_tensor kv_indices;
    /* optional, [T], as positions. kv_append's positions: rows with batch, else b * S + s. Negative: skip the token.
       Absent: positions. */
    spark_tensor slots;
    /* optional, [P, R], as k F32. cos and sin of each position, as for rope. Absent: computed from theta. */
    spark_tensor table;
    /* optional, [T, G, D], as k, needs q_out. Queries of the new tokens. */
    spark_tensor q;
    /* output, optional, [T, G, D], as k E4M3 E5M2, quant TENSOR, may be q, in place, needs q. The rotated queries, or
       codes of them by a scale that is given. */
    spark_tensor q_out;
    /* optional, [D], as k F32, needs q. Factors of the norm of queries. Absent: they are not normed. */
    spark_tensor q_weight;
    /* optional, [D], as k F32. Factors of the norm of keys. Absent: they are not normed. */
    spark_tensor k_weight;
    /* 0 that is not marked as given is 10000. The base of the angles, finite and above 1. Not with a table. */
    float theta;
    /* 0 that is not marked as given is 1e-06. Added to the mean square; finite, not negative. */
    float eps;
    /* 0 that is not marked as given is D, or the width of the table. R: how many elements of a head are rotated,
       even, at most D. */
    uint32_t rotary_dim;
    /* 0. */
    uint32_t reserved;
} spark_rope_append_args;
/* Launches rope_append: spark_op_launch with typed arguments. hdr.op may be 0 here. */
SPARK_API spark_status spark_rope_append(spark_context *ctx, const spark_rope_append_args *args, const spark_exec *exec,
                                         spark_error *err);

/* Flags of requantize, beside spark_flag. */
typedef enum spark_requantize_flag {
    SPARK_REQUANTIZE_OWN_AMAX = 256, /* the scale of all is made of the amax of x */
    SPARK_REQUANTIZE_FLAG_FORCE32 = 0x7fffffff
} spark_requantize_flag;

/* A matrix in a quantised format, in another one or as numbers before, as it is and transposed, read once.
 *
 * y   = quantize(x)
 * y_t = quantize(transpose(x))     the same form, blocks along R in the place of N
 * x   = dequantize(x), as F32      where it has a form of scales
 *
 * What dequantize to F32 and quantize give, bit for bit, for each output by itself: its codes and its scales, whose
 * blocks run along its own last dimension. So a product that wants its operands along K takes either orientation of a
 * matrix: y for one, y_t for the other. Either of them may be absent; both have the same dtype, form and blocks, and
 * scales where each says.
 * amax, amax_floor, rule and OWN_AMAX are those of quantize, without FOUR_OVER_SIX. The scale of all, that of TENSOR
 * and NVFP4's global_scale, is the same for both where it is made of an amax, and written for both; else each has its
 * own, given. OWN_AMAX wants numbers for x, and has a workspace. Scales of a whole row, records and random rounding
 * are for quantize.
 * All kernels give the same bits, and each number's follow from its block and the scale of all alone:
 * SPARK_FLAG_BATCH_INVARIANT, over any strides and alignment, changes nothing. Strides but the innermost are free. A
 * problem with a zero dimension succeeds and launches nothing.
 */
typedef struct spark_requantize_args {
    spark_args hdr;
    /* [B?, R, N], F32 F16 BF16 E4M3 E5M2 I8 E2M3 E3M2 E2M1 I2F6 I4 U4 NF4, quant TENSOR ROW 1X128 128X128 32X32 MXFP8
       MXFP6 MXFP4 MXINT8 NVFP4 INT4_32 INT4_64 INT4_128 NF4_64. Numbers, or codes with scales. */
    spark_tensor x;
    /* output, optional, [B?, R, N], E4M3 E5M2 I8 E2M3 E3M2 E2M1 I2F6 I4 NF4, quant TENSOR 1X128 MXFP8 MXFP6 MXFP4
       MXINT8 NVFP4 INT4_32 INT4_64 INT4_128 NF4_64. The same, quantised; its scales are an output too. */
    spark_tensor y;
    /* output, optional, [B?, N, R], E4M3 E5M2 I8 E2M3 E3M2 E2M1 I2F6 I4 NF4, quant TENSOR 1X128 MXFP8 MXFP6 MXFP4
       MXINT8 NVFP4 INT4_32 INT4_64 INT4_128 NF4_64. The transposed matrix, quantised by its own rows. */
    spark_tensor y_t;
    /* optional, [1], F32. The amax that the scale of all is made of; absent: that scale is read, or made with
       OWN_AMAX. */
    spark_tensor amax;
    /* The least amax that a scale is made of. */
    float amax_floor;
    /* spark_scale_rule. How scales are made. */
    uint32_t rule;
} spark_requantize_args;
/* Launches requantize: spark_op_launch with typed arguments. hdr.op may be 0 here. */
SPARK_API spark_status spark_requantize(spark_context *ctx, const spark_requantize_args *args, const spark_exec *exec,
                                        spark_error *err);

/* specgen end */

#ifdef __cplusplus
}
#endif
#endif /* SPARK_H_ */
