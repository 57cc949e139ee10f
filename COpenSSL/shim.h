#ifndef PCAST_COPENSSL_SHIM_H
#define PCAST_COPENSSL_SHIM_H

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/srtp.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

// DTLS and SRTP: functions for macros and variadic functions of OpenSSL, which Swift does not import.

static inline void pcast_ssl_set_mtu(SSL *ssl, long bytes) { SSL_set_mtu(ssl, bytes); }

static inline void pcast_ssl_ctx_configure_dtls(SSL_CTX *context)
{
    SSL_CTX_set_min_proto_version(context, DTLS1_2_VERSION);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_options(context, SSL_OP_NO_QUERY_MTU | SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
}

static inline int pcast_ssl_ctx_set_groups(SSL_CTX *context, const char *groups)
{
    return (int)SSL_CTX_set1_groups_list(context, groups);
}

// Makes OpenSSL accept the P-224 certificates of GnuTLS clients.
//
// OpenSSL accepts a client's certificate only if its curve is among the client's supported groups (RFC 8422, section
// 5.1, requires that for TLS 1.2). GnuTLS, for example in FFmpeg 8, uses a certificate on secp224r1 without listing the
// group, and OpenSSL has no option to ignore that. Therefore an unknown group after a group in common is overwritten
// with secp224r1; the group in common is still selected. The handshake transcript is not affected, because it already
// contains the client's message.

static inline int pcast_ssl_read_groups(SSL *ssl, int *alert, void *unused)
{
    (void)alert;
    (void)unused;
    const unsigned char *list = NULL;
    size_t size = 0;
    const unsigned secp224r1 = 21;
    unsigned char *spare = NULL;
    int shares = 0;
    if (!SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_supported_groups, &list, &size)) return SSL_CLIENT_HELLO_SUCCESS;
    for (size_t offset = 2; offset + 1 < size; offset += 2) {
        unsigned group = (unsigned)list[offset] << 8 | list[offset + 1];
        if (group == secp224r1) return SSL_CLIENT_HELLO_SUCCESS;
        if (group == 23 || group == 24 || group == 25 || group == 29) {
            shares = 1;
        } else if (shares) {
            spare = (unsigned char *)list + offset;
        }
    }
    if (spare) {
        spare[0] = 0;
        spare[1] = (unsigned char)secp224r1;
    }
    return SSL_CLIENT_HELLO_SUCCESS;
}

static inline void pcast_ssl_ctx_accept_unlisted_curve(SSL_CTX *context)
{
    SSL_CTX_set_client_hello_cb(context, pcast_ssl_read_groups, NULL);
}

// Sets a function that is called for each extension of a hello message of the peer. It is a macro in OpenSSL.
static inline void pcast_ssl_set_extension_callback(
    SSL *ssl, void (*callback)(SSL *, int, int, const unsigned char *, int, void *))
{
    SSL_set_tlsext_debug_callback(ssl, callback);
}

static inline long pcast_dtls_handle_timeout(SSL *ssl) { return DTLSv1_handle_timeout(ssl); }

// Generates a key. It is the first call of OpenSSL in a process, so it also decides that OpenSSL does not free its
// data when the process exits: threads that still handle a connection would use that data and crash.
static inline EVP_PKEY *pcast_evp_ec_gen(const char *curve)
{
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
    return EVP_EC_gen(curve);
}

static inline EVP_PKEY *pcast_evp_rsa_gen(size_t bits) { return EVP_RSA_gen(bits); }

static inline void pcast_bio_set_retry_read(BIO *bio) { BIO_set_retry_read(bio); }

static inline void pcast_bio_clear_retry(BIO *bio) { BIO_clear_retry_flags(bio); }

// The TLS 1.2 pseudo-random function (RFC 5246, section 5), such as for the key block (section 6.3). Returns 1 on
// success.

static inline int pcast_tls12_expand(
    const char *digest, const void *secret, size_t secret_count, const void *seed, size_t seed_count, void *output,
    size_t count)
{
    int result = 0;
    EVP_KDF *kdf = EVP_KDF_fetch(NULL, "TLS1-PRF", NULL);
    EVP_KDF_CTX *context = kdf ? EVP_KDF_CTX_new(kdf) : NULL;
    if (context) {
        OSSL_PARAM parameters[4];
        parameters[0] = OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, (char *)digest, 0);
        parameters[1] = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SECRET, (void *)secret, secret_count);
        parameters[2] = OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SEED, (void *)seed, seed_count);
        parameters[3] = OSSL_PARAM_construct_end();
        result = EVP_KDF_derive(context, (unsigned char *)output, count, parameters) > 0;
    }
    EVP_KDF_CTX_free(context);
    EVP_KDF_free(kdf);
    return result;
}

// Reads the authentication tag after encryption. EVP_CIPHER_CTX_ctrl does the same, but it looks up the parameters by
// name.

static inline int pcast_evp_read_tag(EVP_CIPHER_CTX *context, void *tag, size_t count)
{
    OSSL_PARAM parameters[2];
    parameters[0] = OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, tag, count);
    parameters[1] = OSSL_PARAM_construct_end();
    return EVP_CIPHER_CTX_get_params(context, parameters);
}

// SHA-1 with a context that can be copied by value. OpenSSL 3 deprecates these functions, but copying an EVP_MD_CTX
// would allocate memory for each packet.

static inline void pcast_sha1_init(SHA_CTX *context) { SHA1_Init(context); }

static inline void pcast_sha1_update(SHA_CTX *context, const void *bytes, size_t count)
{
    SHA1_Update(context, bytes, count);
}

static inline void pcast_sha1_final(unsigned char *digest, SHA_CTX *context) { SHA1_Final(digest, context); }

#endif
