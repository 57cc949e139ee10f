// The minimum cost of forwarding a stream to many viewers on this machine. For each viewer, the header of each packet
// is written, and its payload is encrypted with AES-128-GCM as in SRTP (RFC 7714). The packets of a frame are sent
// together (UDP_SEGMENT), those of many viewers with one call (sendmmsg). The viewers' reports are received and
// decrypted, but not evaluated. Nothing is kept for retransmissions, and nobody joins. The SFU's cost beyond this is
// its own. The program is built and run by "pcast-bench fanout".
//
//   fanout-limit CIPHER SHAPE ADDRESS COUNT PORT FPS FRAMES BATCH SOURCE-PORT
//
// CIPHER is evp (OpenSSL) or ipsec-mb (libipsec-mb, if the processor has VAES and AVX-512). SHAPE is a file with a line
// for each frame: the size of each packet's header and of its whole datagram, "36:1200 36:1200". The viewers have
// consecutive addresses from ADDRESS. BATCH is the maximum number of messages per call. FPS 0 sends without pauses. It
// prints "packets bytes nanoseconds messages calls failures reports forged", with the processor time of the loop. On an
// error it prints a sentence and exits with 1.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef SOL_UDP
#define SOL_UDP 17
#endif

enum {
    TAG = 16,
    MAX_PACKETS = 1024,
    MAX_FRAMES = 4096,
    MAX_SEGMENTS = 16,
    MAX_BATCH = 256,
    MAX_REPORTS = 64,
    REPORT_SIZE = 1536,
    LOG_SIZE = 1 << 21,
    // struct gcm_key_data of libipsec-mb: round keys and powers of the hash key.
    KEY_DATA = 1024,
};

struct packet {
    uint16_t header, size;
};

struct frame {
    struct packet *packets;
    int count;
};

// The cipher of one direction of one protocol, by OpenSSL or libipsec-mb.
struct cipher {
    uint8_t salt[12];
    EVP_CIPHER_CTX *context;
    void *key_data;
};

struct viewer {
    struct cipher media, reports;
    uint32_t ssrc, timestamp_offset;
    uint64_t index;
    uint16_t transport_number;
    struct sockaddr_in address;
};

typedef void (*precompute_f)(const void *key, void *key_data);
typedef void (*crypt_f)(
    const void *key_data, void *context, uint8_t *out, const uint8_t *in, uint64_t length, const uint8_t *iv,
    const uint8_t *aad, uint64_t aad_length, uint8_t *tag, uint64_t tag_length);

static precompute_f precompute;
static crypt_f encrypt, decrypt;
static uint8_t mb_context[1024] __attribute__((aligned(64)));

static struct viewer *all;
static int viewers;
static uint32_t base;
static int socket_number;
static uint64_t reports, forged;

static struct frame frames[MAX_FRAMES];
static int frame_count;
static uint8_t payload_log[LOG_SIZE + (1 << 20)];

static void fail(const char *reason) {
    printf("%s\n", reason);
    exit(1);
}

static void read_shape(const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) fail("the shape cannot be read");
    static char line[65536];
    static struct packet packets[MAX_PACKETS];
    while (frame_count < MAX_FRAMES && fgets(line, sizeof line, file)) {
        int count = 0;
        for (char *word = strtok(line, " \n"); word && count < MAX_PACKETS; word = strtok(NULL, " \n")) {
            unsigned header, size;
            if (sscanf(word, "%u:%u", &header, &size) != 2 || header < 20 || size < header + TAG || size > 1500)
                fail("the shape is malformed");
            packets[count++] = (struct packet){(uint16_t)header, (uint16_t)size};
        }
        if (!count) continue;
        frames[frame_count].packets = malloc(sizeof *packets * (size_t)count);
        memcpy(frames[frame_count].packets, packets, sizeof *packets * (size_t)count);
        frames[frame_count++].count = count;
    }
    fclose(file);
    if (!frame_count) fail("the shape is empty");
}

static int load_ipsec_mb(void) {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("vpclmulqdq")) return 0;
    void *library = dlopen("libIPSec_MB.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) return 0;
    precompute = (precompute_f)dlsym(library, "aes_gcm_pre_128_vaes_avx512");
    encrypt = (crypt_f)dlsym(library, "aes_gcm_enc_128_vaes_avx512");
    decrypt = (crypt_f)dlsym(library, "aes_gcm_dec_128_vaes_avx512");
    return precompute && encrypt && decrypt;
}

// Derives a session key or salt from the master ones (RFC 3711, section 4.3), which end with the viewer's number in big
// endian.
static void derive(uint32_t number, uint8_t label, uint8_t *out, int count) {
    uint8_t key[16] = {0}, counter[16] = {0}, zeros[16] = {0}, stream[16];
    for (int index = 0; index < 4; index++) {
        key[12 + index] = (uint8_t)(number >> (24 - 8 * index));
        counter[8 + index] = key[12 + index];
    }
    counter[7] ^= label;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    int written;
    if (!EVP_EncryptInit_ex(context, EVP_aes_128_ctr(), NULL, key, counter)
        || !EVP_EncryptUpdate(context, stream, &written, zeros, 16))
        fail("OpenSSL derives no keys");
    EVP_CIPHER_CTX_free(context);
    memcpy(out, stream, (size_t)count);
}

static void prepare_cipher(struct cipher *cipher, uint32_t number, uint8_t label, int encrypts) {
    uint8_t key[16];
    derive(number, label, key, 16);
    derive(number, label + 2, cipher->salt, 12);
    if (encrypt) {
        cipher->key_data = aligned_alloc(64, KEY_DATA);
        precompute(key, cipher->key_data);
        return;
    }
    cipher->context = EVP_CIPHER_CTX_new();
    if (!EVP_CipherInit_ex(cipher->context, EVP_aes_128_gcm(), NULL, key, NULL, encrypts))
        fail("OpenSSL has no AES-128-GCM");
}

static void prepare(struct viewer *viewer, uint32_t number, uint16_t port) {
    prepare_cipher(&viewer->media, number, 0, 1);
    prepare_cipher(&viewer->reports, number, 3, 0);
    viewer->ssrc = 0x10000000 + number;
    viewer->timestamp_offset = number * 2654435761u;
    viewer->address.sin_family = AF_INET;
    viewer->address.sin_port = htons(port);
    viewer->address.sin_addr.s_addr = htonl(base + number);
}

// Writes the header like the SFU: the fixed part, and extensions, two of which change with each packet.
static inline void write_header(
    uint8_t *out, const struct viewer *viewer, int size, int marker, uint32_t timestamp, uint32_t send_time) {
    uint16_t sequence = htons((uint16_t)viewer->index), words = htons((uint16_t)((size - 16) / 4));
    uint32_t time = htonl(timestamp + viewer->timestamp_offset), ssrc = htonl(viewer->ssrc);
    out[0] = 0x90;
    out[1] = (uint8_t)(102 | (marker ? 0x80 : 0));
    memcpy(out + 2, &sequence, 2);
    memcpy(out + 4, &time, 4);
    memcpy(out + 8, &ssrc, 4);
    out[12] = 0xBE;
    out[13] = 0xDE;
    memcpy(out + 14, &words, 2);
    memset(out + 16, 0, (size_t)(size - 16));
    if (size >= 24) {
        out[16] = 0x31;
        out[17] = (uint8_t)(viewer->transport_number >> 8);
        out[18] = (uint8_t)viewer->transport_number;
        out[19] = 0x22;
        out[20] = (uint8_t)(send_time >> 16);
        out[21] = (uint8_t)(send_time >> 8);
        out[22] = (uint8_t)send_time;
    }
}

static inline void protect(
    struct viewer *viewer, uint8_t *out, struct packet packet, const uint8_t *payload) {
    uint8_t iv[12];
    int length = packet.size - packet.header - TAG;
    uint32_t ssrc = htonl(viewer->ssrc);
    memcpy(iv, viewer->media.salt, 12);
    for (int index = 0; index < 4; index++) iv[2 + index] ^= ((uint8_t *)&ssrc)[index];
    for (int index = 0; index < 6; index++) iv[6 + index] ^= (uint8_t)(viewer->index >> (40 - 8 * index));
    if (encrypt) {
        encrypt(
            viewer->media.key_data, mb_context, out + packet.header, payload, (uint64_t)length, iv, out, packet.header,
            out + packet.header + length, TAG);
        return;
    }
    int written;
    EVP_CIPHER_CTX *context = viewer->media.context;
    if (!EVP_EncryptInit_ex(context, NULL, NULL, NULL, iv)
        || !EVP_EncryptUpdate(context, NULL, &written, out, packet.header)
        || !EVP_EncryptUpdate(context, out + packet.header, &written, payload, length)
        || !EVP_EncryptFinal_ex(context, NULL, &written)
        || !EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, TAG, out + packet.header + length))
        fail("OpenSSL does not encrypt");
}

// Decrypts a viewer's report (RFC 7714, section 9): eight bytes of header, the encrypted rest, the tag, and the index
// with the encryption bit. Returns whether it was authentic.
static int open_report(struct viewer *viewer, uint8_t *report, int size) {
    int length = size - 8 - TAG - 4;
    if (length < 0 || !(report[size - 4] & 0x80)) return 0;
    uint8_t iv[12], aad[12], tag[TAG];
    memcpy(iv, viewer->reports.salt, 12);
    for (int index = 0; index < 4; index++) iv[2 + index] ^= report[4 + index];
    for (int index = 0; index < 4; index++) iv[8 + index] ^= report[size - 4 + index] & (index ? 0xFF : 0x7F);
    memcpy(aad, report, 8);
    memcpy(aad + 8, report + size - 4, 4);
    if (decrypt) {
        decrypt(
            viewer->reports.key_data, mb_context, report + 8, report + 8, (uint64_t)length, iv, aad, sizeof aad, tag, TAG);
        return !CRYPTO_memcmp(tag, report + 8 + length, TAG);
    }
    int written;
    EVP_CIPHER_CTX *context = viewer->reports.context;
    return EVP_DecryptInit_ex(context, NULL, NULL, NULL, iv)
        && EVP_DecryptUpdate(context, NULL, &written, aad, sizeof aad)
        && EVP_DecryptUpdate(context, report + 8, &written, report + 8, length)
        && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, TAG, report + 8 + length)
        && EVP_DecryptFinal_ex(context, report + 8, &written) > 0;
}

static void read_reports(void) {
    static uint8_t memory[MAX_REPORTS][REPORT_SIZE];
    static struct sockaddr_in names[MAX_REPORTS];
    static struct iovec vectors[MAX_REPORTS];
    static struct mmsghdr messages[MAX_REPORTS];
    int count;
    do {
        for (int index = 0; index < MAX_REPORTS; index++) {
            vectors[index] = (struct iovec){.iov_base = memory[index], .iov_len = REPORT_SIZE};
            messages[index].msg_hdr = (struct msghdr){
                .msg_name = &names[index], .msg_namelen = sizeof names[index], .msg_iov = &vectors[index],
                .msg_iovlen = 1};
        }
        count = recvmmsg(socket_number, messages, MAX_REPORTS, MSG_DONTWAIT, NULL);
        for (int index = 0; index < count; index++) {
            uint32_t number = ntohl(names[index].sin_addr.s_addr) - base;
            if (number < (uint32_t)viewers && open_report(&all[number], memory[index], (int)messages[index].msg_len))
                reports++;
            else
                forged++;
        }
    } while (count == MAX_REPORTS);
}

static uint64_t clock_ns(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

// Waits until a time. Reports are received meanwhile.
static void wait_until(uint64_t due) {
    for (uint64_t now; (now = clock_ns(CLOCK_MONOTONIC)) < due;) {
        struct pollfd descriptor = {.fd = socket_number, .events = POLLIN};
        struct timespec left = {
            .tv_sec = (time_t)((due - now) / 1000000000), .tv_nsec = (long)((due - now) % 1000000000)};
        if (ppoll(&descriptor, 1, &left, NULL) > 0) read_reports();
    }
}

int main(int count, char **words) {
    if (count != 10) fail("nine arguments are expected");
    int mb = !strcmp(words[1], "ipsec-mb");
    if (mb && !load_ipsec_mb()) fail("libipsec-mb, or a processor for it, is not here");
    read_shape(words[2]);
    base = ntohl(inet_addr(words[3]));
    viewers = atoi(words[4]);
    int fps = atoi(words[6]), rounds = atoi(words[7]), batch = atoi(words[8]);
    if (viewers < 1 || rounds < 1 || batch < 1 || batch > MAX_BATCH) fail("an argument is out of bounds");
    all = calloc((size_t)viewers, sizeof *all);
    for (int index = 0; index < viewers; index++) prepare(&all[index], (uint32_t)index, (uint16_t)atoi(words[5]));
    for (int index = 0; index < (int)sizeof payload_log; index++) payload_log[index] = (uint8_t)(index * 31 + 7);

    socket_number = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int room = 8 << 20;
    setsockopt(socket_number, SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
    setsockopt(socket_number, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
    struct sockaddr_in own = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(words[9]))};
    own.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(socket_number, (struct sockaddr *)&own, sizeof own)) fail("the socket cannot be bound");

    static struct mmsghdr messages[MAX_BATCH];
    static struct iovec vectors[MAX_BATCH];
    static char control[MAX_BATCH][CMSG_SPACE(sizeof(uint16_t))] __attribute__((aligned(8)));
    uint8_t *out = aligned_alloc(64, (size_t)MAX_BATCH * MAX_SEGMENTS * 1536);
    uint64_t packets = 0, bytes = 0, sent_messages = 0, calls = 0, failures = 0;
    size_t log_position = 0;
    uint64_t start = clock_ns(CLOCK_PROCESS_CPUTIME_ID), begin = clock_ns(CLOCK_MONOTONIC);

    for (int round = 0; round < rounds; round++) {
        struct frame *frame = &frames[round % frame_count];
        if (fps > 0) {
            // Reports are received also if the frame is late.
            read_reports();
            wait_until(begin + (uint64_t)round * 1000000000 / (uint64_t)fps);
        }
        size_t frame_start = log_position;
        uint32_t send_time = (uint32_t)((clock_ns(CLOCK_MONOTONIC) << 8) / 1000000000 << 10);
        uint8_t *cursor = out;
        int pending = 0;
        for (int index = 0; index < viewers; index++) {
            struct viewer *viewer = &all[index];
            const uint8_t *payload = payload_log + frame_start;
            for (int first = 0; first < frame->count;) {
                // A run of packets of equal size. Only the last one may be smaller.
                int size = frame->packets[first].size, length = 0, segments = 0;
                uint8_t *run = cursor;
                while (first + segments < frame->count && segments < MAX_SEGMENTS) {
                    struct packet packet = frame->packets[first + segments];
                    if (packet.size > size) break;
                    write_header(
                        cursor, viewer, packet.header, first + segments == frame->count - 1, (uint32_t)round * 3000,
                        send_time);
                    protect(viewer, cursor, packet, payload);
                    payload += packet.size - packet.header - TAG;
                    cursor += packet.size;
                    length += packet.size;
                    segments++;
                    viewer->index++;
                    viewer->transport_number++;
                    if (packet.size < size) break;
                }
                first += segments;
                struct msghdr *message = &messages[pending].msg_hdr;
                vectors[pending] = (struct iovec){.iov_base = run, .iov_len = (size_t)length};
                *message = (struct msghdr){
                    .msg_name = &viewer->address, .msg_namelen = sizeof viewer->address,
                    .msg_iov = &vectors[pending], .msg_iovlen = 1};
                if (segments > 1) {
                    struct cmsghdr *header = (struct cmsghdr *)control[pending];
                    uint16_t segment = (uint16_t)size;
                    header->cmsg_level = SOL_UDP;
                    header->cmsg_type = UDP_SEGMENT;
                    header->cmsg_len = CMSG_LEN(sizeof segment);
                    memcpy(CMSG_DATA(header), &segment, sizeof segment);
                    message->msg_control = header;
                    message->msg_controllen = CMSG_SPACE(sizeof segment);
                }
                packets += (uint64_t)segments;
                bytes += (uint64_t)length;
                pending++;
                int is_last = index == viewers - 1 && first >= frame->count;
                if (pending < batch && !is_last) continue;
                for (int done = 0; done < pending;) {
                    int taken = sendmmsg(socket_number, messages + done, (unsigned)(pending - done), 0);
                    calls++;
                    if (taken < 0) {
                        if (errno == EINTR) continue;
                        failures++;
                        taken = 1;
                    }
                    done += taken;
                }
                sent_messages += (uint64_t)pending;
                pending = 0;
                cursor = out;
            }
        }
        for (int index = 0; index < frame->count; index++)
            log_position += (size_t)(frame->packets[index].size - frame->packets[index].header - TAG);
        if (log_position >= LOG_SIZE) log_position = 0;
    }
    uint64_t taken = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start;
    printf(
        "%llu %llu %llu %llu %llu %llu %llu %llu\n", (unsigned long long)packets, (unsigned long long)bytes,
        (unsigned long long)taken, (unsigned long long)sent_messages, (unsigned long long)calls,
        (unsigned long long)failures, (unsigned long long)reports, (unsigned long long)forged);
    return 0;
}
