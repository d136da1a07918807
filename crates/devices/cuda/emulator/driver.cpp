// An emulator of the CUDA driver's library, for tests on machines without a GPU: memory is the host's, kernels run immediately.
//
// EMULATED_CUDA=none: no device; devices=N: N devices; memory=N: N bytes of memory; faults=PATH: a file that says
// which allocations fail, `beyond N` bytes or only the one that follows N others, `after N`, counted from when the file changes; lost=N: the device is lost after N launches; skip: kernels do
// nothing and memory holds 0.1 everywhere, so that a profile shows only the host's time.
#include <algorithm>
#include <functional>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <vector>
#include <dlfcn.h>
#include <unistd.h>
#include "emulator.h"

Index threadIdx, blockIdx, blockDim, gridDim;
float *emulator_shared;

typedef void (*Kernel)(const void *);

// ---- fibers
extern "C" void emulator_switch(void **save, void *to);
asm(R"(
.text
.globl emulator_switch
emulator_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
)");

static const size_t STACK = 64 << 10;
struct Fiber {
    char *stack = nullptr;
    void *at = nullptr;
    bool done = false;
};
static std::vector<Fiber> fibers;
static void *scheduler;
static int current, live, arrived, generation;
static int warp_live[64], warp_arrived[64], warp_generation[64];
static Kernel running;
static const void *arguments;

static void yield() { emulator_switch(&fibers[current].at, scheduler); }

void emulator_sync() {
    int mine = generation;
    if (++arrived == live) arrived = 0, generation++;
    while (generation == mine) yield();
}

void emulator_warp_sync() {
    int w = current / 32, mine = warp_generation[w];
    if (++warp_arrived[w] == warp_live[w]) warp_arrived[w] = 0, warp_generation[w]++;
    while (warp_generation[w] == mine) yield();
}

u32 *emulator_warp_words() {
    static u32 words[64][32 * 8];
    return words[current / 32];
}
int emulator_lane() { return current % 32; }

static void body() {
    running(arguments);
    fibers[current].done = true;
    live--;
    warp_live[current / 32]--;
    if (live > 0 && arrived == live) arrived = 0, generation++;
    yield();
    abort();
}

static void run_block(int threads) {
    if ((int)fibers.size() < threads) fibers.resize(threads);
    live = threads, arrived = 0;
    for (int w = 0; w < (threads + 31) / 32; w++) warp_live[w] = threads - 32 * w < 32 ? threads - 32 * w : 32, warp_arrived[w] = 0;
    for (int t = 0; t < threads; t++) {
        Fiber &f = fibers[t];
        if (!f.stack) f.stack = (char *)malloc(STACK);
        f.done = false;
        void **top = (void **)(((uintptr_t)f.stack + STACK) & ~(uintptr_t)15);
        *--top = nullptr;            // alignment as after a call
        *--top = (void *)body;
        for (int r = 0; r < 6; r++) *--top = nullptr;
        f.at = top;
    }
    while (live > 0)
        for (int t = 0; t < threads; t++) {
            if (fibers[t].done) continue;
            current = t;
            threadIdx = {(unsigned)t, 0, 0};
            emulator_switch(&scheduler, fibers[t].at);
        }
}

// ---- the driver
static std::mutex lock;
static std::map<void *, size_t> blocks;
static size_t used;
static long launches;

static const char *setting(const char *name) {
    static std::string value;
    const char *all = getenv("EMULATED_CUDA");
    if (!all) return nullptr;
    std::string text = all, key = std::string(name) + "=";
    if (text == name) return "";
    size_t at = text.find(key);
    if (at == std::string::npos) return nullptr;
    value = text.substr(at + key.size(), text.find(',', at) - at - key.size());
    return value.c_str();
}
static size_t memory() { const char *m = setting("memory"); return m ? (size_t)atoll(m) : (size_t)8 << 30; }
static bool refuses(size_t n) {
    if (used + n > memory()) return true;
    static std::string last;
    static size_t made;
    const char *path = setting("faults");
    FILE *file = path ? fopen(path, "r") : nullptr;
    if (!file) return false;
    char text[64] = "";
    size_t number = 0;
    if (!fgets(text, sizeof text, file)) text[0] = 0;
    fclose(file);
    if (last != text) last = text, made = 0;
    if (sscanf(text, "beyond %zu", &number) == 1) return used + n > number;
    return sscanf(text, "after %zu", &number) == 1 && made++ == number;
}
static bool lost() { const char *l = setting("lost"); return l && launches > atol(l); }
static bool skips() { static bool skip = setting("skip"); return skip; }
enum { OK = 0, INVALID = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, NOT_FOUND = 500, LAUNCH_FAILED = 719, CAPTURE_UNSUPPORTED = 900 };
// Less than a real device has, so that tests notice what is not given back.
static const size_t MOST_PINNED = 4 << 20;
static const int MOST_STREAMS = 128;
static std::atomic<int> streams;
#define API extern "C" __attribute__((visibility("default"))) int
#define ALIVE if (lost()) return LAUNCH_FAILED

API cuInit(unsigned) { return setting("none") ? NO_DEVICE : OK; }
API cuDriverGetVersion(int *v) { const char *s = setting("version"); *v = s ? atoi(s) : 13000; return OK; }
static int devices() { const char *n = setting("devices"); return n ? atoi(n) : 1; }
API cuDeviceGetCount(int *n) { *n = devices(); return OK; }
API cuDeviceGet(int *d, int n) { *d = n; return n < devices() ? OK : 101; }
API cuDeviceGetName(char *name, int n, int) { snprintf(name, n, "emulated"); return OK; }
API cuDeviceGetAttribute(int *v, int what, int) {
    *v = what == 75 ? 9 : what == 76 ? 0 : what == 16 ? 4 : 0;
    return OK;
}
API cuDeviceTotalMem_v2(size_t *n, int) { *n = memory(); return OK; }
API cuDevicePrimaryCtxRetain(void **c, int) { *c = (void *)1; return OK; }
API cuCtxSetCurrent(void *) { return OK; }
// A stream on which work is recorded takes nothing else.
static std::mutex recorded_lock;
static std::set<void *> recorded;
static bool is_recorded(void *stream) { std::lock_guard<std::mutex> hold(recorded_lock); return recorded.count(stream); }
#define OPEN(stream) if (is_recorded(stream)) return CAPTURE_UNSUPPORTED
API cuStreamCreate(void **s, unsigned) { static std::atomic<uintptr_t> next{16}; *s = (void *)next++; return ++streams > MOST_STREAMS ? OUT_OF_MEMORY : OK; }
API cuStreamDestroy_v2(void *) { streams--; return OK; }
extern std::atomic<int> emulated_waiting; // in nccl.cpp
API cuStreamSynchronize(void *stream) {
    while (emulated_waiting) usleep(1000);
    ALIVE;
    OPEN(stream);
    return OK;
}
API cuStreamWaitEvent(void *, void *, unsigned) { ALIVE; return OK; }
API cuEventCreate(void **e, unsigned) { *e = (void *)3; return OK; }
API cuEventRecord(void *, void *) { ALIVE; return OK; }
API cuEventSynchronize(void *) { ALIVE; return OK; }
API cuEventDestroy_v2(void *) { return OK; }
API cuDeviceGetDefaultMemPool(void **pool, int) { *pool = (void *)5; return OK; }
API cuMemPoolSetAttribute(void *, int, void *) { return OK; }
API cuMemGetInfo_v2(size_t *free, size_t *total) { *total = memory(); *free = used < *total ? *total - used : 0; return OK; }
API cuMemAllocAsync(void **p, size_t n, void *stream) {
    ALIVE;
    OPEN(stream);
    std::lock_guard<std::mutex> hold(lock);
    if (refuses(n)) return OUT_OF_MEMORY;
    *p = aligned_alloc(1024, (n + 1023) / 1024 * 1024);
    if (skips()) std::fill_n((float *)*p, n / 4, 0.1f);
    else memset(*p, 0xff, n); // NaN, so that reading uninitialised memory shows
    blocks[*p] = n;
    used += n;
    return OK;
}
API cuMemFreeAsync(void *p, void *) {
    std::lock_guard<std::mutex> hold(lock);
    auto at = blocks.find(p);
    if (at == blocks.end()) return INVALID;
    used -= at->second;
    blocks.erase(at);
    free(p);
    return OK;
}
API cuMemAllocHost_v2(void **p, size_t n) { if (n > MOST_PINNED) return OUT_OF_MEMORY; *p = malloc(n); return OK; }
API cuMemFreeHost(void *p) { free(p); return OK; }
API cuMemcpyHtoDAsync_v2(void *to, const void *from, size_t n, void *stream) { ALIVE; OPEN(stream); memcpy(to, from, n); return OK; }
API cuMemcpyDtoHAsync_v2(void *to, const void *from, size_t n, void *stream) { ALIVE; OPEN(stream); memcpy(to, from, n); return OK; }
API cuModuleLoadData(void **m, const void *) { *m = (void *)4; return OK; }
API cuModuleUnload(void *) { return OK; }
API cuModuleGetFunction(void **f, void *, const char *name) {
    Dl_info here;
    dladdr((void *)cuInit, &here);
    *f = dlsym(dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD), name);
    return *f ? OK : NOT_FOUND;
}
API cuFuncSetAttribute(void *, int, int) { return OK; }
API cuFuncGetParamInfo(void *f, size_t which, size_t *at, size_t *bytes) {
    Dl_info kernel;
    if (which || !dladdr(f, &kernel)) return INVALID;
    void *takes = dlsym(dlopen(kernel.dli_fname, RTLD_NOW | RTLD_NOLOAD), (std::string(kernel.dli_sname) + "_takes").c_str());
    if (!takes) return NOT_FOUND;
    *at = 0, *bytes = *(unsigned long *)takes;
    return OK;
}
// Captured work is stored in a graph; arguments stay in the caller's memory.
typedef std::vector<std::function<int()>> Work;
static thread_local Work *captured;
API cuStreamBeginCapture_v2(void *stream, unsigned) {
    std::lock_guard<std::mutex> hold(recorded_lock);
    recorded.insert(stream);
    captured = new Work;
    return OK;
}
API cuStreamEndCapture(void *stream, void **graph) {
    usleep(1000); // so that other threads come between
    std::lock_guard<std::mutex> hold(recorded_lock);
    recorded.erase(stream);
    *graph = captured;
    captured = nullptr;
    return OK;
}
API cuGraphInstantiateWithFlags(void **made, void *graph, u64) { *made = new Work(*(Work *)graph); return OK; }
API cuGraphDestroy(void *graph) { delete (Work *)graph; return OK; }
API cuGraphExecDestroy(void *graph) { delete (Work *)graph; return OK; }
API cuGraphLaunch(void *graph, void *) {
    for (auto &one : *(Work *)graph)
        if (int code = one()) return code;
    return OK;
}
API cuMemsetD32Async(u32 *to, u32 value, size_t n, void *) {
    ALIVE;
    if (captured) return captured->push_back([=] { return cuMemsetD32Async(to, value, n, nullptr); }), OK;
    for (size_t i = 0; i < n; i++) to[i] = value;
    return OK;
}
API cuLaunchKernel(void *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned, unsigned, unsigned shared, void *, void **args, void **) {
    if (gy > 65535 || gz > 65535) return INVALID;
    if (captured) {
        void *kept = args[0];
        captured->push_back([=] { void *again = kept; return cuLaunchKernel(f, gx, gy, gz, bx, 1, 1, shared, nullptr, &again, nullptr); });
        return OK;
    }
    std::lock_guard<std::mutex> hold(lock);
    launches++;
    ALIVE;
    if (skips()) return OK;
    static std::vector<char> memory;
    memory.resize(shared + 2048);
    emulator_shared = (float *)(((uintptr_t)memory.data() + 1023) & ~(uintptr_t)1023);
    running = (Kernel)f, arguments = args[0];
    gridDim = {gx, gy, gz}, blockDim = {bx, 1, 1};
    for (unsigned z = 0; z < gz; z++)
        for (unsigned y = 0; y < gy; y++)
            for (unsigned x = 0; x < gx; x++) {
                blockIdx = {x, y, z};
                run_block(bx);
            }
    return OK;
}
API cuGetErrorName(int code, const char **s) {
    *s = code == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : code == LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED" : code == NO_DEVICE ? "CUDA_ERROR_NO_DEVICE" : "CUDA_ERROR";
    return OK;
}
