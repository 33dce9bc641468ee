// SPDX-License-Identifier: Apache-2.0
// Every function of the driver API up to CUDA 13.0 that is exported and NOT implemented, in the open. Each returns
// CUDA_ERROR_NOT_SUPPORTED, is counted, and says so once through the report channel: never success.
// To implement one: remove its row here, add it to functions.inc and cuda_api.h.
//
//   V1(name, version)  the symbol `name`, introduced with driver version `version`
//   V2 V3 V4           the symbols name_v2, name_v3, name_v4 of the same base name
//   PT(symbol)         never looked up by base name: per-thread-default-stream forms, names without a public version
#include "emu/driver/cuda_api.h"
#include "emu/driver/report.h"

#define UNIMPLEMENTED(V1, V2, V3, V4, PT) \
    V1(cuArray3DCreate, 2000) V2(cuArray3DCreate, 3020) V1(cuArray3DGetDescriptor, 2000) \
    V2(cuArray3DGetDescriptor, 3020) V1(cuArrayCreate, 2000) V2(cuArrayCreate, 3020) V1(cuArrayDestroy, 2000) \
    V1(cuArrayGetDescriptor, 2000) V2(cuArrayGetDescriptor, 3020) V1(cuArrayGetMemoryRequirements, 11060) \
    V1(cuArrayGetPlane, 11020) V1(cuArrayGetSparseProperties, 11010) V1(cuCheckpointProcessCheckpoint, 12080) \
    V1(cuCheckpointProcessGetRestoreThreadId, 12080) V1(cuCheckpointProcessGetState, 12080) \
    V1(cuCheckpointProcessLock, 12080) V1(cuCheckpointProcessRestore, 12080) V1(cuCheckpointProcessUnlock, 12080) \
    V1(cuCoredumpGetAttribute, 12010) V1(cuCoredumpGetAttributeGlobal, 12010) V1(cuCoredumpSetAttribute, 12010) \
    V1(cuCoredumpSetAttributeGlobal, 12010) V1(cuCtxAttach, 2000) V1(cuCtxCreate, 2000) V3(cuCtxCreate, 11040) \
    V1(cuCtxDestroy, 2000) V1(cuCtxDetach, 2000) V1(cuCtxDisablePeerAccess, 4000) V1(cuCtxEnablePeerAccess, 4000) \
    V1(cuCtxFromGreenCtx, 12040) V1(cuCtxGetDevResource, 12040) V1(cuCtxGetExecAffinity, 11040) \
    V1(cuCtxGetSharedMemConfig, 4020) V1(cuCtxPopCurrent, 2000) V1(cuCtxPushCurrent, 2000) \
    V1(cuCtxRecordEvent, 12050) V1(cuCtxResetPersistingL2Cache, 11000) V1(cuCtxSetSharedMemConfig, 4020) \
    V1(cuCtxWaitEvent, 12050) V1(cuDestroyExternalMemory, 10000) V1(cuDestroyExternalSemaphore, 10000) \
    V1(cuDevResourceGenerateDesc, 12040) V1(cuDevSmResourceSplitByCount, 12040) V1(cuDeviceGetDevResource, 12040) \
    V1(cuDeviceGetExecAffinitySupport, 11040) V1(cuDeviceGetGraphMemAttribute, 11040) \
    V1(cuDeviceGetHostAtomicCapabilities, 13000) V1(cuDeviceGetLuid, 10000) V1(cuDeviceGetNvSciSyncAttributes, 10020) \
    V1(cuDeviceGetP2PAtomicCapabilities, 13000) V1(cuDeviceGetP2PAttribute, 8000) V1(cuDeviceGetProperties, 2000) \
    V1(cuDeviceGetTexture1DLinearMaxWidth, 11010) V1(cuDeviceGraphMemTrim, 11040) V1(cuDevicePrimaryCtxRelease, 7000) \
    V1(cuDevicePrimaryCtxReset, 7000) V1(cuDevicePrimaryCtxSetFlags, 7000) \
    V1(cuDeviceRegisterAsyncNotification, 12040) V1(cuDeviceSetGraphMemAttribute, 11040) V1(cuDeviceTotalMem, 2000) \
    V1(cuDeviceUnregisterAsyncNotification, 12040) V1(cuEventDestroy, 2000) \
    V1(cuExternalMemoryGetMappedBuffer, 10000) V1(cuExternalMemoryGetMappedMipmappedArray, 10000) \
    V1(cuFlushGPUDirectRDMAWrites, 11030) V1(cuFuncIsLoaded, 12040) V1(cuFuncSetBlockShape, 2000) \
    V1(cuFuncSetSharedMemConfig, 4020) V1(cuFuncSetSharedSize, 2000) V1(cuGetExportTable, 3000) \
    V1(cuGraphAddBatchMemOpNode, 11070) V1(cuGraphAddChildGraphNode, 10000) V1(cuGraphAddDependencies, 10000) \
    V2(cuGraphAddDependencies, 12030) V1(cuGraphAddExternalSemaphoresSignalNode, 11020) \
    V1(cuGraphAddExternalSemaphoresWaitNode, 11020) V1(cuGraphAddKernelNode, 10000) V1(cuGraphAddMemAllocNode, 11040) \
    V1(cuGraphAddMemFreeNode, 11040) V1(cuGraphAddNode, 12020) V2(cuGraphAddNode, 12030) \
    V1(cuGraphBatchMemOpNodeGetParams, 11070) V1(cuGraphBatchMemOpNodeSetParams, 11070) \
    V1(cuGraphChildGraphNodeGetGraph, 10000) V1(cuGraphClone, 10000) V1(cuGraphConditionalHandleCreate, 12030) \
    V1(cuGraphDebugDotPrint, 11030) V1(cuGraphDestroyNode, 10000) V1(cuGraphEventRecordNodeGetEvent, 11010) \
    V1(cuGraphEventRecordNodeSetEvent, 11010) V1(cuGraphEventWaitNodeGetEvent, 11010) \
    V1(cuGraphEventWaitNodeSetEvent, 11010) V1(cuGraphExecBatchMemOpNodeSetParams, 11070) \
    V1(cuGraphExecChildGraphNodeSetParams, 11010) V1(cuGraphExecEventRecordNodeSetEvent, 11010) \
    V1(cuGraphExecEventWaitNodeSetEvent, 11010) V1(cuGraphExecExternalSemaphoresSignalNodeSetParams, 11020) \
    V1(cuGraphExecExternalSemaphoresWaitNodeSetParams, 11020) V1(cuGraphExecGetFlags, 12000) \
    V1(cuGraphExecHostNodeSetParams, 10020) V1(cuGraphExecKernelNodeSetParams, 10010) \
    V1(cuGraphExecMemcpyNodeSetParams, 10020) V1(cuGraphExecMemsetNodeSetParams, 10020) \
    V1(cuGraphExecNodeSetParams, 12020) V1(cuGraphExecUpdate, 10020) V2(cuGraphExecUpdate, 12000) \
    V1(cuGraphExternalSemaphoresSignalNodeGetParams, 11020) V1(cuGraphExternalSemaphoresSignalNodeSetParams, 11020) \
    V1(cuGraphExternalSemaphoresWaitNodeGetParams, 11020) V1(cuGraphExternalSemaphoresWaitNodeSetParams, 11020) \
    V1(cuGraphHostNodeGetParams, 10000) V1(cuGraphHostNodeSetParams, 10000) V1(cuGraphInstantiate, 10000) \
    V2(cuGraphInstantiate, 11000) V1(cuGraphKernelNodeCopyAttributes, 11000) V1(cuGraphKernelNodeGetAttribute, 11000) \
    V1(cuGraphKernelNodeGetParams, 10000) V2(cuGraphKernelNodeGetParams, 12000) \
    V1(cuGraphKernelNodeSetAttribute, 11000) V1(cuGraphKernelNodeSetParams, 10000) \
    V2(cuGraphKernelNodeSetParams, 12000) V1(cuGraphMemAllocNodeGetParams, 11040) \
    V1(cuGraphMemFreeNodeGetParams, 11040) V1(cuGraphMemcpyNodeGetParams, 10000) \
    V1(cuGraphMemcpyNodeSetParams, 10000) V1(cuGraphMemsetNodeGetParams, 10000) V1(cuGraphMemsetNodeSetParams, 10000) \
    V1(cuGraphNodeFindInClone, 10000) V1(cuGraphNodeGetDependencies, 10000) V2(cuGraphNodeGetDependencies, 12030) \
    V1(cuGraphNodeGetDependentNodes, 10000) V2(cuGraphNodeGetDependentNodes, 12030) V1(cuGraphNodeGetEnabled, 11060) \
    V1(cuGraphNodeSetEnabled, 11060) V1(cuGraphNodeSetParams, 12020) V1(cuGraphReleaseUserObject, 11030) \
    V1(cuGraphRemoveDependencies, 10000) V2(cuGraphRemoveDependencies, 12030) V1(cuGraphRetainUserObject, 11030) \
    V1(cuGraphicsMapResources, 3000) V1(cuGraphicsResourceGetMappedMipmappedArray, 5000) \
    V1(cuGraphicsResourceGetMappedPointer, 3000) V2(cuGraphicsResourceGetMappedPointer, 3020) \
    V1(cuGraphicsResourceSetMapFlags, 3000) V2(cuGraphicsResourceSetMapFlags, 6050) \
    V1(cuGraphicsSubResourceGetMappedArray, 3000) V1(cuGraphicsUnmapResources, 3000) \
    V1(cuGraphicsUnregisterResource, 3000) V1(cuGreenCtxCreate, 12040) V1(cuGreenCtxDestroy, 12040) \
    V1(cuGreenCtxGetDevResource, 12040) V1(cuGreenCtxGetId, 12090) V1(cuGreenCtxRecordEvent, 12040) \
    V1(cuGreenCtxStreamCreate, 12050) V1(cuGreenCtxWaitEvent, 12040) V1(cuImportExternalMemory, 10000) \
    V1(cuImportExternalSemaphore, 10000) V1(cuIpcCloseMemHandle, 4010) V1(cuIpcGetEventHandle, 4010) \
    V1(cuIpcGetMemHandle, 4010) V1(cuIpcOpenEventHandle, 4010) V1(cuIpcOpenMemHandle, 4010) \
    V2(cuIpcOpenMemHandle, 11000) V1(cuLaunch, 2000) V1(cuLaunchCooperativeKernelMultiDevice, 9000) \
    V1(cuLaunchGrid, 2000) V1(cuLaunchGridAsync, 2000) V1(cuLibraryGetManaged, 12000) V1(cuLibraryGetModule, 12000) \
    V1(cuLibraryGetUnifiedFunction, 12000) V1(cuLibraryLoadFromFile, 12000) V1(cuLinkAddData, 5050) \
    V2(cuLinkAddData, 6050) V1(cuLinkAddFile, 5050) V2(cuLinkAddFile, 6050) V1(cuLinkComplete, 5050) \
    V1(cuLinkCreate, 5050) V2(cuLinkCreate, 6050) V1(cuLinkDestroy, 5050) V1(cuLogsCurrent, 12090) \
    V1(cuLogsDumpToFile, 12090) V1(cuLogsDumpToMemory, 12090) V1(cuLogsRegisterCallback, 12090) \
    V1(cuLogsUnregisterCallback, 12090) V1(cuMemAddressFree, 10020) V1(cuMemAddressReserve, 10020) \
    V1(cuMemAdvise, 8000) V2(cuMemAdvise, 12020) V1(cuMemAlloc, 2000) V1(cuMemAllocHost, 2000) \
    V1(cuMemAllocPitch, 2000) V1(cuMemBatchDecompressAsync, 12060) V1(cuMemCreate, 10020) \
    V1(cuMemDiscardAndPrefetchBatchAsync, 13000) V1(cuMemDiscardBatchAsync, 13000) \
    V1(cuMemExportToShareableHandle, 10020) V1(cuMemFree, 2000) V1(cuMemGetAccess, 10020) \
    V1(cuMemGetAddressRange, 2000) V1(cuMemGetAllocationGranularity, 10020) \
    V1(cuMemGetAllocationPropertiesFromHandle, 10020) V1(cuMemGetDefaultMemPool, 13000) \
    V1(cuMemGetHandleForAddressRange, 11070) V1(cuMemGetInfo, 2000) V1(cuMemGetMemPool, 13000) \
    V1(cuMemHostGetDevicePointer, 2020) V1(cuMemHostRegister, 4000) V2(cuMemHostRegister, 6050) \
    V1(cuMemHostUnregister, 4000) V1(cuMemImportFromShareableHandle, 10020) V1(cuMemMap, 10020) \
    V1(cuMemMapArrayAsync, 11010) V1(cuMemPoolExportPointer, 11020) V1(cuMemPoolExportToShareableHandle, 11020) \
    V1(cuMemPoolGetAccess, 11020) V1(cuMemPoolImportFromShareableHandle, 11020) V1(cuMemPoolImportPointer, 11020) \
    V1(cuMemPoolSetAccess, 11020) V1(cuMemPrefetchAsync, 8000) V2(cuMemPrefetchAsync, 12020) \
    V1(cuMemPrefetchBatchAsync, 13000) V1(cuMemRangeGetAttribute, 8000) V1(cuMemRangeGetAttributes, 8000) \
    V1(cuMemRelease, 10020) V1(cuMemRetainAllocationHandle, 11000) V1(cuMemSetAccess, 10020) \
    V1(cuMemSetMemPool, 13000) V1(cuMemUnmap, 10020) V1(cuMemcpy2D, 2000) V1(cuMemcpy2DAsync, 2000) \
    V1(cuMemcpy2DUnaligned, 2000) V1(cuMemcpy3D, 2000) V1(cuMemcpy3DAsync, 2000) V1(cuMemcpy3DBatchAsync, 12080) \
    V2(cuMemcpy3DBatchAsync, 13000) V1(cuMemcpy3DPeer, 4000) V1(cuMemcpy3DPeerAsync, 4000) V1(cuMemcpyAtoA, 2000) \
    V2(cuMemcpyAtoA, 3020) V1(cuMemcpyAtoD, 2000) V2(cuMemcpyAtoD, 3020) V1(cuMemcpyAtoH, 2000) \
    V1(cuMemcpyAtoHAsync, 2000) V2(cuMemcpyAtoHAsync, 3020) V2(cuMemcpyAtoH, 3020) V1(cuMemcpyBatchAsync, 12080) \
    V2(cuMemcpyBatchAsync, 13000) V1(cuMemcpyDtoA, 2000) V2(cuMemcpyDtoA, 3020) V1(cuMemcpyDtoD, 2000) \
    V1(cuMemcpyDtoDAsync, 3000) V1(cuMemcpyDtoH, 2000) V1(cuMemcpyDtoHAsync, 2000) V1(cuMemcpyHtoA, 2000) \
    V1(cuMemcpyHtoAAsync, 2000) V2(cuMemcpyHtoAAsync, 3020) V2(cuMemcpyHtoA, 3020) V1(cuMemcpyHtoD, 2000) \
    V1(cuMemcpyHtoDAsync, 2000) V1(cuMemcpyPeer, 4000) V1(cuMemcpyPeerAsync, 4000) V1(cuMemsetD16, 2000) \
    V1(cuMemsetD2D16, 2000) V1(cuMemsetD2D32, 2000) V1(cuMemsetD2D8, 2000) V1(cuMemsetD32, 2000) V1(cuMemsetD8, 2000) \
    V1(cuMipmappedArrayCreate, 5000) V1(cuMipmappedArrayDestroy, 5000) V1(cuMipmappedArrayGetLevel, 5000) \
    V1(cuMipmappedArrayGetMemoryRequirements, 11060) V1(cuMipmappedArrayGetSparseProperties, 11010) \
    V1(cuModuleGetGlobal, 2000) V1(cuModuleGetLoadingMode, 11070) V1(cuModuleGetSurfRef, 3000) \
    V1(cuModuleGetTexRef, 2000) V1(cuMulticastAddDevice, 12010) V1(cuMulticastBindAddr, 12010) \
    V1(cuMulticastBindMem, 12010) V1(cuMulticastCreate, 12010) V1(cuMulticastGetGranularity, 12010) \
    V1(cuMulticastUnbind, 12010) V1(cuOccupancyMaxActiveClusters, 11070) \
    V1(cuOccupancyMaxPotentialBlockSizeWithFlags, 7000) V1(cuOccupancyMaxPotentialClusterSize, 11070) \
    V1(cuParamSetSize, 2000) V1(cuParamSetTexRef, 2000) V1(cuParamSetf, 2000) V1(cuParamSeti, 2000) \
    V1(cuParamSetv, 2000) V1(cuPointerSetAttribute, 6000) V1(cuSignalExternalSemaphoresAsync, 10000) \
    V1(cuStreamAttachMemAsync, 6000) V1(cuStreamBatchMemOp, 8000) V2(cuStreamBatchMemOp, 11070) \
    V1(cuStreamBeginCapture, 10000) V1(cuStreamBeginCaptureToGraph, 12030) V1(cuStreamCopyAttributes, 11000) \
    V1(cuStreamDestroy, 2000) V1(cuStreamGetAttribute, 11000) V1(cuStreamGetCaptureInfo, 10010) \
    V2(cuStreamGetCtx, 12050) V1(cuStreamGetGreenCtx, 12040) V1(cuStreamSetAttribute, 11000) \
    V1(cuStreamUpdateCaptureDependencies, 11030) V2(cuStreamUpdateCaptureDependencies, 12030) \
    V1(cuStreamWaitValue32, 8000) V2(cuStreamWaitValue32, 11070) V1(cuStreamWaitValue64, 9000) \
    V2(cuStreamWaitValue64, 11070) V1(cuStreamWriteValue32, 8000) V2(cuStreamWriteValue32, 11070) \
    V1(cuStreamWriteValue64, 9000) V2(cuStreamWriteValue64, 11070) V1(cuSurfObjectCreate, 5000) \
    V1(cuSurfObjectDestroy, 5000) V1(cuSurfObjectGetResourceDesc, 5000) V1(cuSurfRefGetArray, 3000) \
    V1(cuSurfRefSetArray, 3000) V1(cuTensorMapEncodeIm2col, 12000) V1(cuTensorMapEncodeIm2colWide, 12080) \
    V1(cuTensorMapEncodeTiled, 12000) V1(cuTensorMapReplaceAddress, 12000) V1(cuTexObjectCreate, 5000) \
    V1(cuTexObjectDestroy, 5000) V1(cuTexObjectGetResourceDesc, 5000) V1(cuTexObjectGetResourceViewDesc, 5000) \
    V1(cuTexObjectGetTextureDesc, 5000) V1(cuTexRefCreate, 2000) V1(cuTexRefDestroy, 2000) \
    V1(cuTexRefGetAddress, 2000) V1(cuTexRefGetAddressMode, 2000) V2(cuTexRefGetAddress, 3020) \
    V1(cuTexRefGetArray, 2000) V1(cuTexRefGetBorderColor, 8000) V1(cuTexRefGetFilterMode, 2000) \
    V1(cuTexRefGetFlags, 2000) V1(cuTexRefGetFormat, 2000) V1(cuTexRefGetMaxAnisotropy, 5000) \
    V1(cuTexRefGetMipmapFilterMode, 5000) V1(cuTexRefGetMipmapLevelBias, 5000) V1(cuTexRefGetMipmapLevelClamp, 5000) \
    V1(cuTexRefGetMipmappedArray, 5000) V1(cuTexRefSetAddress, 2000) V1(cuTexRefSetAddress2D, 2020) \
    V2(cuTexRefSetAddress2D, 3020) V3(cuTexRefSetAddress2D, 4010) V1(cuTexRefSetAddressMode, 2000) \
    V2(cuTexRefSetAddress, 3020) V1(cuTexRefSetArray, 2000) V1(cuTexRefSetBorderColor, 8000) \
    V1(cuTexRefSetFilterMode, 2000) V1(cuTexRefSetFlags, 2000) V1(cuTexRefSetFormat, 2000) \
    V1(cuTexRefSetMaxAnisotropy, 5000) V1(cuTexRefSetMipmapFilterMode, 5000) V1(cuTexRefSetMipmapLevelBias, 5000) \
    V1(cuTexRefSetMipmapLevelClamp, 5000) V1(cuTexRefSetMipmappedArray, 5000) V1(cuUserObjectCreate, 11030) \
    V1(cuUserObjectRelease, 11030) V1(cuUserObjectRetain, 11030) V1(cuWaitExternalSemaphoresAsync, 10000) \
    PT(cuGraphicsMapResources_ptsz) PT(cuGraphicsUnmapResources_ptsz) PT(cuMemBatchDecompressAsync_ptsz) \
    PT(cuMemDiscardAndPrefetchBatchAsync_ptsz) PT(cuMemDiscardBatchAsync_ptsz) PT(cuMemMapArrayAsync_ptsz) \
    PT(cuMemPrefetchAsync_ptsz) PT(cuMemPrefetchAsync_v2_ptsz) PT(cuMemPrefetchBatchAsync_ptsz) \
    PT(cuMemcpy3DBatchAsync_ptsz) PT(cuMemcpy3DBatchAsync_v2_ptsz) PT(cuMemcpy3DPeer_ptds) \
    PT(cuMemcpy3DPeerAsync_ptsz) PT(cuMemcpyAtoA_v2_ptds) PT(cuMemcpyAtoD_v2_ptds) PT(cuMemcpyAtoHAsync_v2_ptsz) \
    PT(cuMemcpyAtoH_v2_ptds) PT(cuMemcpyBatchAsync_ptsz) PT(cuMemcpyBatchAsync_v2_ptsz) PT(cuMemcpyDtoA_v2_ptds) \
    PT(cuMemcpyHtoAAsync_v2_ptsz) PT(cuMemcpyHtoA_v2_ptds) PT(cuMemcpyPeer_ptds) PT(cuMemcpyPeerAsync_ptsz) \
    PT(cuSignalExternalSemaphoresAsync_ptsz) PT(cuStreamAttachMemAsync_ptsz) PT(cuStreamBatchMemOp_ptsz) \
    PT(cuStreamBatchMemOp_v2_ptsz) PT(cuStreamBeginCapture_ptsz) PT(cuStreamBeginCaptureToGraph_ptsz) \
    PT(cuStreamCopyAttributes_ptsz) PT(cuStreamGetAttribute_ptsz) PT(cuStreamGetCaptureInfo_ptsz) \
    PT(cuStreamGetCtx_v2_ptsz) PT(cuStreamSetAttribute_ptsz) PT(cuStreamUpdateCaptureDependencies_ptsz) \
    PT(cuStreamUpdateCaptureDependencies_v2_ptsz) PT(cuStreamWaitValue32_ptsz) PT(cuStreamWaitValue32_v2_ptsz) \
    PT(cuStreamWaitValue64_ptsz) PT(cuStreamWaitValue64_v2_ptsz) PT(cuStreamWriteValue32_ptsz) \
    PT(cuStreamWriteValue32_v2_ptsz) PT(cuStreamWriteValue64_ptsz) PT(cuStreamWriteValue64_v2_ptsz) \
    PT(cuWaitExternalSemaphoresAsync_ptsz) PT(cuEGLApiInit) V1(cuEGLStreamConsumerAcquireFrame, 7000) \
    V1(cuEGLStreamConsumerConnect, 7000) V1(cuEGLStreamConsumerConnectWithFlags, 8000) \
    V1(cuEGLStreamConsumerDisconnect, 7000) V1(cuEGLStreamConsumerReleaseFrame, 7000) \
    V1(cuEGLStreamProducerConnect, 7000) V1(cuEGLStreamProducerDisconnect, 7000) \
    V1(cuEGLStreamProducerPresentFrame, 7000) V1(cuEGLStreamProducerReturnFrame, 7000) V1(cuGLCtxCreate, 2000) \
    V2(cuGLCtxCreate, 3020) V1(cuGLGetDevices, 4010) V2(cuGLGetDevices, 6050) V1(cuGLInit, 2000) \
    V1(cuGLMapBufferObject, 2000) V1(cuGLMapBufferObjectAsync, 2030) V2(cuGLMapBufferObjectAsync, 3020) \
    PT(cuGLMapBufferObjectAsync_v2_ptsz) V2(cuGLMapBufferObject, 3020) PT(cuGLMapBufferObject_v2_ptds) \
    V1(cuGLRegisterBufferObject, 2000) V1(cuGLSetBufferObjectMapFlags, 2030) V1(cuGLUnmapBufferObject, 2000) \
    V1(cuGLUnmapBufferObjectAsync, 2030) V1(cuGLUnregisterBufferObject, 2000) V1(cuGraphicsEGLRegisterImage, 7000) \
    V1(cuGraphicsGLRegisterBuffer, 3000) V1(cuGraphicsGLRegisterImage, 3000) \
    V1(cuGraphicsResourceGetMappedEglFrame, 7000) V1(cuGraphicsVDPAURegisterOutputSurface, 3010) \
    V1(cuGraphicsVDPAURegisterVideoSurface, 3010) PT(cuMemGetAttribute) PT(cuMemGetAttribute_v2) \
    V1(cuProfilerInitialize, 4000) V1(cuProfilerStart, 4000) V1(cuProfilerStop, 4000) V1(cuVDPAUCtxCreate, 3010) \
    V2(cuVDPAUCtxCreate, 3020) V1(cuVDPAUGetDevice, 3010)

// Each function takes whatever it is given: the C calling convention lets a callee ignore its arguments.
namespace emu::driver {
namespace {
enum Row : size_t {
#define V1(name, version) ROW_##name,
#define V2(name, version) ROW_##name##_v2,
#define V3(name, version) ROW_##name##_v3,
#define V4(name, version) ROW_##name##_v4,
#define PT(symbol) ROW_##symbol,
    UNIMPLEMENTED(V1, V2, V3, V4, PT)
#undef V1
#undef V2
#undef V3
#undef V4
#undef PT
};
} // namespace
} // namespace emu::driver

#define STUB(symbol)                                               \
    extern "C" CU_API CUresult symbol();                           \
    extern "C" CUresult symbol() {                                 \
        emu::driver::count_unimplemented(emu::driver::ROW_##symbol); \
        return CUDA_ERROR_NOT_SUPPORTED;                           \
    }
#define V1(name, version) STUB(name)
#define V2(name, version) STUB(name##_v2)
#define V3(name, version) STUB(name##_v3)
#define V4(name, version) STUB(name##_v4)
#define PT(symbol) STUB(symbol)
UNIMPLEMENTED(V1, V2, V3, V4, PT)
#undef V1
#undef V2
#undef V3
#undef V4
#undef PT

namespace emu::driver {

std::span<const Unimplemented> unimplemented() {
    static const Unimplemented rows[] = {
#define V1(name, version) {#name, #name, version, reinterpret_cast<void*>(&::name)},
#define V2(name, version) {#name, #name "_v2", version, reinterpret_cast<void*>(&::name##_v2)},
#define V3(name, version) {#name, #name "_v3", version, reinterpret_cast<void*>(&::name##_v3)},
#define V4(name, version) {#name, #name "_v4", version, reinterpret_cast<void*>(&::name##_v4)},
#define PT(symbol) {"", #symbol, 0, reinterpret_cast<void*>(&::symbol)},
        UNIMPLEMENTED(V1, V2, V3, V4, PT)};
    return rows;
}

} // namespace emu::driver
