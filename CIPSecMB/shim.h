#ifndef PCAST_CIPSECMB_SHIM_H
#define PCAST_CIPSECMB_SHIM_H

// AES-GCM of Intel's Multi-Buffer Crypto for IPsec Library (libipsec-mb 1.x, Debian's libipsec-mb1). The library is
// loaded at first use, so that it is required neither for a build nor at run time. Only the functions in use are
// declared here, according to intel-ipsec-mb.h 1.3. The AVX-512 functions are found by their symbol names, so that only
// the first two words of the library's manager structure must have a known layout.

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

// The size and alignment of struct gcm_key_data: 15 round keys and 48 powers of the hash key.
#define PCAST_IMB_KEY_SIZE 1024
#define PCAST_IMB_KEY_ALIGNMENT 64
// The size of struct gcm_context_data (88 bytes), rounded up. Its content is used only during a call.
#define PCAST_IMB_CONTEXT_SIZE 96

typedef void (*pcast_imb_expand)(const void *key, void *expanded);
typedef void (*pcast_imb_crypt)(
    const void *expanded, void *context, uint8_t *output, const uint8_t *input, uint64_t length, const uint8_t *vector,
    const uint8_t *associated, uint64_t associated_length, uint8_t *tag, uint64_t tag_length);

// The functions for one key length.
typedef struct {
    pcast_imb_expand expand;
    pcast_imb_crypt encrypt, decrypt;
} pcast_imb_gcm;

typedef struct {
    pcast_imb_gcm gcm128, gcm256;
    const char *version;
} pcast_imb_library;

// IMB_FEATURE_*: AVX2, AVX-512 F, DQ, CD, BW and VL, VAES, VPCLMULQDQ.
#define PCAST_IMB_NEEDED_FEATURES (UINT64_C(0xFC0) | UINT64_C(0x3000))

// Loads the library. Returns 1 if it is installed and the processor supports its AVX-512 functions, otherwise 0.
static inline int pcast_imb_load(pcast_imb_library *library)
{
    void *handle = dlopen("libIPSec_MB.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!handle) return 0;
    void *(*make)(uint64_t) = (void *(*)(uint64_t))dlsym(handle, "alloc_mb_mgr");
    void (*discard)(void *) = (void (*)(void *))dlsym(handle, "free_mb_mgr");
    void (*prepare)(void *, void *) = (void (*)(void *, void *))dlsym(handle, "init_mb_mgr_auto");
    const char *(*version)(void) = (const char *(*)(void))dlsym(handle, "imb_get_version_str");
    uint64_t features = 0;
    void *manager = make && discard && prepare && version ? make(0) : NULL;
    if (manager) {
        prepare(manager, NULL);
        features = ((const uint64_t *)manager)[1];
        discard(manager);
    }
    if ((features & PCAST_IMB_NEEDED_FEATURES) != PCAST_IMB_NEEDED_FEATURES) {
        dlclose(handle);
        return 0;
    }
#define PCAST_IMB_FIND(bits) \
    library->gcm##bits.expand = (pcast_imb_expand)dlsym(handle, "aes_gcm_pre_" #bits "_vaes_avx512"); \
    library->gcm##bits.encrypt = (pcast_imb_crypt)dlsym(handle, "aes_gcm_enc_" #bits "_vaes_avx512"); \
    library->gcm##bits.decrypt = (pcast_imb_crypt)dlsym(handle, "aes_gcm_dec_" #bits "_vaes_avx512"); \
    if (!library->gcm##bits.expand || !library->gcm##bits.encrypt || !library->gcm##bits.decrypt) return 0;
    PCAST_IMB_FIND(128)
    PCAST_IMB_FIND(256)
#undef PCAST_IMB_FIND
    library->version = version();
    return 1;
}

// Encrypts or decrypts with round keys that are expanded for this call only. They are on the stack, because Swift's
// temporary allocations with this alignment would use the heap.
static inline void pcast_imb_crypt_once(
    pcast_imb_expand expand, pcast_imb_crypt crypt, const void *key, void *context, uint8_t *output, const uint8_t *input,
    uint64_t length, const uint8_t *vector, const uint8_t *associated, uint64_t associated_length, uint8_t *tag,
    uint64_t tag_length)
{
    _Alignas(PCAST_IMB_KEY_ALIGNMENT) uint8_t expanded[PCAST_IMB_KEY_SIZE];
    expand(key, expanded);
    crypt(expanded, context, output, input, length, vector, associated, associated_length, tag, tag_length);
}

// Prefetches memory into the first-level cache without waiting for it.
static inline void pcast_prefetch(const void *start, size_t size)
{
    const char *end = (const char *)start + size;
    const char *line = (const char *)((uintptr_t)start & ~(uintptr_t)63);
    for (; line < end; line += 64) __builtin_prefetch(line);
}

#endif
