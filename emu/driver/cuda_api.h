// SPDX-License-Identifier: Apache-2.0
// The functions of the CUDA Driver API that libspark-emu.so implements, declared by ourselves (no CUDA header is used).
// Names carry the suffix of the binary symbol. The table of names and versions is functions.inc; what is exported
// without being implemented is in unimplemented.inc. Also for programs that link the emulator directly (the tests).
#pragma once

#include "emu/driver/cuda_types.h"

enum CUresult : int {
#define ERROR(name, value, meaning) name = value,
#include "emu/driver/cuda_errors.inc"
#undef ERROR
};

enum CUdevice_attribute : int {
#define ATTRIBUTE(name, number, value) CU_DEVICE_ATTRIBUTE_##name = number,
#include "emu/driver/attributes.inc"
#undef ATTRIBUTE
};

using CUstreamCallback = void (*)(CUstream stream, CUresult status, void* user_data);

#define CU_API __attribute__((visibility("default")))
extern "C" {
// init.cpp, errors.cpp, proc_address.cpp
CU_API CUresult cuInit(unsigned flags);
CU_API CUresult cuDriverGetVersion(int* version);
CU_API CUresult cuGetErrorName(CUresult error, const char** text);
CU_API CUresult cuGetErrorString(CUresult error, const char** text);
CU_API CUresult cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags);
CU_API CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                                    CUdriverProcAddressQueryResult* status);
// device.cpp
CU_API CUresult cuDeviceGet(CUdevice* device, int ordinal);
CU_API CUresult cuDeviceGetCount(int* count);
CU_API CUresult cuDeviceGetName(char* name, int bytes, CUdevice device);
CU_API CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device);
CU_API CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device);
CU_API CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device);
CU_API CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device);
CU_API CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device);
CU_API CUresult cuDeviceGetPCIBusId(char* text, int bytes, CUdevice device);
CU_API CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* text);
CU_API CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags);
CU_API CUresult cuCtxDisablePeerAccess(CUcontext peer);
CU_API CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                             size_t bytes);
CU_API CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                                  size_t bytes, CUstream stream);
CU_API CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer);
// context.cpp
CU_API CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device);
CU_API CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device);
CU_API CUresult cuDevicePrimaryCtxReset_v2(CUdevice device);
CU_API CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice device, unsigned flags);
CU_API CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active);
CU_API CUresult cuCtxCreate_v2(CUcontext* context, unsigned flags, CUdevice device);
CU_API CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* params, unsigned flags, CUdevice device);
CU_API CUresult cuCtxDestroy_v2(CUcontext context);
CU_API CUresult cuCtxPushCurrent_v2(CUcontext context);
CU_API CUresult cuCtxPopCurrent_v2(CUcontext* context);
CU_API CUresult cuCtxSetCurrent(CUcontext context);
CU_API CUresult cuCtxGetCurrent(CUcontext* context);
CU_API CUresult cuCtxGetDevice(CUdevice* device);
CU_API CUresult cuCtxGetDevice_v2(CUdevice* device, CUcontext context);
CU_API CUresult cuCtxGetFlags(unsigned* flags);
CU_API CUresult cuCtxSetFlags(unsigned flags);
CU_API CUresult cuCtxGetId(CUcontext context, unsigned long long* id);
CU_API CUresult cuCtxGetApiVersion(CUcontext context, unsigned* version);
CU_API CUresult cuCtxSynchronize(void);
CU_API CUresult cuCtxSynchronize_v2(CUcontext context);
CU_API CUresult cuCtxGetLimit(size_t* value, CUlimit limit);
CU_API CUresult cuCtxSetLimit(CUlimit limit, size_t value);
CU_API CUresult cuCtxGetCacheConfig(CUfunc_cache* config);
CU_API CUresult cuCtxSetCacheConfig(CUfunc_cache config);
CU_API CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest);
// memory.cpp
CU_API CUresult cuMemGetInfo_v2(size_t* free_bytes, size_t* total_bytes);
CU_API CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes);
CU_API CUresult cuMemAllocPitch_v2(CUdeviceptr* address, size_t* pitch, size_t width, size_t height, unsigned element);
CU_API CUresult cuMemAllocManaged(CUdeviceptr* address, size_t bytes, unsigned flags);
CU_API CUresult cuMemFree_v2(CUdeviceptr address);
CU_API CUresult cuMemAllocHost_v2(void** pointer, size_t bytes);
CU_API CUresult cuMemHostAlloc(void** pointer, size_t bytes, unsigned flags);
CU_API CUresult cuMemFreeHost(void* pointer);
CU_API CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* address, void* pointer, unsigned flags);
CU_API CUresult cuMemHostGetFlags(unsigned* flags, void* pointer);
CU_API CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address);
CU_API CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr address);
CU_API CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** data,
                                       CUdeviceptr address);
// pool.cpp
CU_API CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream);
CU_API CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool, CUstream stream);
CU_API CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream);
CU_API CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* props);
CU_API CUresult cuMemPoolDestroy(CUmemoryPool pool);
CU_API CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep);
CU_API CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value);
CU_API CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value);
CU_API CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device);
CU_API CUresult cuDeviceGetMemPool(CUmemoryPool* pool, CUdevice device);
CU_API CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool);
// copy.cpp, copy_box.cpp
CU_API CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes);
CU_API CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
CU_API CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes);
CU_API CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream);
CU_API CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes);
CU_API CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream);
CU_API CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes);
CU_API CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream);
CU_API CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy);
CU_API CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy);
CU_API CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream);
CU_API CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* copy);
CU_API CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* copy, CUstream stream);
// fill.cpp
CU_API CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count);
CU_API CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count);
CU_API CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count);
CU_API CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height);
CU_API CUresult cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height);
CU_API CUresult cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height);
CU_API CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream);
CU_API CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream);
CU_API CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream);
CU_API CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
                                  CUstream stream);
CU_API CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
                                   CUstream stream);
CU_API CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height,
                                   CUstream stream);
// module.cpp, library.cpp
CU_API CUresult cuModuleLoad(CUmodule* module, const char* path);
CU_API CUresult cuModuleLoadData(CUmodule* module, const void* image);
CU_API CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count, CUjit_option* options,
                                   void** values);
CU_API CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image);
CU_API CUresult cuModuleUnload(CUmodule module);
CU_API CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name);
CU_API CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule module);
CU_API CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned count, CUmodule module);
CU_API CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name);
CU_API CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option* jit, void** jit_values,
                                  unsigned jit_count, CUlibraryOption* options, void** values, unsigned count);
CU_API CUresult cuLibraryUnload(CUlibrary library);
CU_API CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name);
CU_API CUresult cuLibraryGetKernelCount(unsigned* count, CUlibrary library);
CU_API CUresult cuLibraryEnumerateKernels(CUkernel* kernels, unsigned count, CUlibrary library);
CU_API CUresult cuLibraryGetGlobal(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name);
CU_API CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel);
CU_API CUresult cuKernelGetLibrary(CUlibrary* library, CUkernel kernel);
CU_API CUresult cuKernelGetName(const char** name, CUkernel kernel);
CU_API CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* bytes);
CU_API CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel, CUdevice device);
CU_API CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device);
CU_API CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device);
// function.cpp
CU_API CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function);
CU_API CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value);
CU_API CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache config);
CU_API CUresult cuFuncGetModule(CUmodule* module, CUfunction function);
CU_API CUresult cuFuncGetName(const char** name, CUfunction function);
CU_API CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* bytes);
CU_API CUresult cuFuncLoad(CUfunction function);
CU_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int block, size_t smem);
CU_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function, int block,
                                                                     size_t smem, unsigned flags);
CU_API CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function, CUoccupancyB2DSize smem_of,
                                                 size_t smem, int limit);
CU_API CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction function, int blocks, int block);
CU_API CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction function, const CUlaunchConfig* config);
CU_API CUresult cuOccupancyMaxPotentialClusterSize(int* blocks, CUfunction function, const CUlaunchConfig* config);
// launch.cpp
CU_API CUresult cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                               unsigned bz, unsigned smem, CUstream stream, void** params, void** extra);
CU_API CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** params, void** extra);
CU_API CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                                          unsigned by, unsigned bz, unsigned smem, CUstream stream, void** params);
CU_API CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* user_data);
// stream.cpp
CU_API CUresult cuStreamCreate(CUstream* stream, unsigned flags);
CU_API CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority);
CU_API CUresult cuStreamDestroy_v2(CUstream stream);
CU_API CUresult cuStreamSynchronize(CUstream stream);
CU_API CUresult cuStreamQuery(CUstream stream);
CU_API CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags);
CU_API CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* user_data, unsigned flags);
CU_API CUresult cuStreamGetPriority(CUstream stream, int* priority);
CU_API CUresult cuStreamGetFlags(CUstream stream, unsigned* flags);
CU_API CUresult cuStreamGetId(CUstream stream, unsigned long long* id);
CU_API CUresult cuStreamGetCtx(CUstream stream, CUcontext* context);
CU_API CUresult cuStreamGetDevice(CUstream stream, CUdevice* device);
// event.cpp
CU_API CUresult cuEventCreate(CUevent* event, unsigned flags);
CU_API CUresult cuEventDestroy_v2(CUevent event);
CU_API CUresult cuEventRecord(CUevent event, CUstream stream);
CU_API CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags);
CU_API CUresult cuEventQuery(CUevent event);
CU_API CUresult cuEventSynchronize(CUevent event);
CU_API CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end);
CU_API CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end);
// capture.cpp
CU_API CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode);
CU_API CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph);
CU_API CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status);
CU_API CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                          CUgraph* graph, const CUgraphNode** nodes, size_t* count);
CU_API CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                          CUgraph* graph, const CUgraphNode** nodes, const CUgraphEdgeData** edges,
                                          size_t* count);
CU_API CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode);
// graph.cpp, graph_exec.cpp
CU_API CUresult cuGraphCreate(CUgraph* graph, unsigned flags);
CU_API CUresult cuGraphDestroy(CUgraph graph);
CU_API CUresult cuGraphAddKernelNode_v2(CUgraphNode* node, CUgraph graph, const CUgraphNode* deps, size_t count,
                                        const CUDA_KERNEL_NODE_PARAMS* params);
CU_API CUresult cuGraphAddMemcpyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* deps, size_t count,
                                     const CUDA_MEMCPY3D* copy, CUcontext context);
CU_API CUresult cuGraphAddMemsetNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* deps, size_t count,
                                     const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context);
CU_API CUresult cuGraphAddHostNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* deps, size_t count,
                                   const CUDA_HOST_NODE_PARAMS* params);
CU_API CUresult cuGraphAddEmptyNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* deps, size_t count);
CU_API CUresult cuGraphAddEventRecordNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* deps, size_t count,
                                          CUevent event);
CU_API CUresult cuGraphAddEventWaitNode(CUgraphNode* node, CUgraph graph, const CUgraphNode* deps, size_t count,
                                        CUevent event);
CU_API CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count);
CU_API CUresult cuGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, size_t* count);
CU_API CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count);
CU_API CUresult cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data,
                                   size_t* count);
CU_API CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type);
CU_API CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long flags);
CU_API CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* params);
CU_API CUresult cuGraphUpload(CUgraphExec exec, CUstream stream);
CU_API CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream);
CU_API CUresult cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* info);
CU_API CUresult cuGraphExecDestroy(CUgraphExec exec);
CU_API CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                                  const CUDA_KERNEL_NODE_PARAMS* params);
// tensor_map.cpp: enumerations as their numbers
CU_API CUresult cuTensorMapEncodeTiled(CUtensorMap* map, unsigned type, cuuint32_t rank, void* address,
                                       const cuuint64_t* dim, const cuuint64_t* strides, const cuuint32_t* box,
                                       const cuuint32_t* steps, unsigned interleave, unsigned swizzle,
                                       unsigned promotion, unsigned fill);
CU_API CUresult cuTensorMapReplaceAddress(CUtensorMap* map, void* address);
} // extern "C"
