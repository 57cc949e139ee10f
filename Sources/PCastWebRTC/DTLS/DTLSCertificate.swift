import COpenSSL
public import PCastMedia

/// A self-signed certificate and the context of every handshake that shows it: one for a process (DTLS12).
///
/// ECDSA on P-256, signed with SHA-256, a random serial number, valid from the day before for a year. Peers may show
/// RSA certificates too (DTLS11).
public final class DTLSCertificate: @unchecked Sendable {  // an SSL_CTX is shared between threads by design
    let context: OpaquePointer
    /// For descriptions.
    public let fingerprint: DTLSFingerprint

    private init(context: OpaquePointer, fingerprint: DTLSFingerprint) {
        self.context = context
        self.fingerprint = fingerprint
    }

    deinit { SSL_CTX_free(context) }

    /// - Parameter now: the certificate is valid from the day before.
    public static func generate(at now: WallTime) throws(DTLSError) -> DTLSCertificate {
        guard let key = pcast_evp_ec_gen("P-256") else { throw failure("making a key") }
        defer { EVP_PKEY_free(key) }
        return try make(key, at: now)
    }

    /// Of a key that the caller keeps and frees.
    static func make(_ key: OpaquePointer, at now: WallTime) throws(DTLSError) -> DTLSCertificate {
        let certificate = try sign(key, at: now)
        defer { X509_free(certificate) }
        let context = try context(key, certificate)
        return DTLSCertificate(
            context: context, fingerprint: DTLSFingerprint(.sha256, of: X509Certificate.der(certificate)))
    }

    static func sign(_ key: OpaquePointer, at now: WallTime) throws(DTLSError) -> OpaquePointer {
        guard let certificate = X509_new() else { throw failure("making a certificate") }
        let day = 86_400
        let seconds = Int(now.nanosecondsSinceEpoch / 1_000_000_000)
        let name = X509_get_subject_name(certificate)
        let isComplete =
            X509_set_version(certificate, 2) == 1 && setSerial(certificate)
            && ASN1_TIME_set(X509_getm_notBefore(certificate), seconds - day) != nil
            && ASN1_TIME_set(X509_getm_notAfter(certificate), seconds + 365 * day) != nil
            && X509_NAME_add_entry_by_txt(name, "CN", 0x1001, "pcast", -1, -1, 0) == 1
            && X509_set_issuer_name(certificate, name) == 1 && X509_set_pubkey(certificate, key) == 1
            && X509_sign(certificate, key, EVP_sha256()) > 0
        guard isComplete else {
            X509_free(certificate)
            throw failure("signing a certificate")
        }
        return certificate
    }

    private static func setSerial(_ certificate: OpaquePointer) -> Bool {
        let number = BN_new()
        defer { BN_free(number) }
        // 63 bits, the top one set: positive and never short.
        guard BN_rand(number, 63, 0, 0) == 1 else { return false }
        return BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nil
    }

    /// In order of preference. OpenSSL lets this list also decide on which curves a peer's certificate may be, and
    /// FFmpeg 8 with GnuTLS makes its own on secp224r1.
    static let groups = "X25519:P-256:P-384:P-521:secp224r1"

    private static func context(
        _ key: OpaquePointer, _ certificate: OpaquePointer
    ) throws(DTLSError) -> OpaquePointer {
        guard let context = SSL_CTX_new(DTLS_method()) else { throw failure("making a context") }
        pcast_ssl_ctx_configure_dtls(context)
        pcast_ssl_ctx_accept_unlisted_curve(context)
        // A certificate is demanded, and its fingerprint decides, whoever signed it.
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
        SSL_CTX_set_cert_verify_callback(context, { chain, _ in OpenSSLHandshake.judge(chain) }, nil)
        let ciphers =
            "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305:"
            + "ECDHE-RSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
            + "ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA:ECDHE-RSA-AES256-SHA"
        let isComplete =
            SSL_CTX_use_certificate(context, certificate) == 1 && SSL_CTX_use_PrivateKey(context, key) == 1
            && SSL_CTX_set_cipher_list(context, ciphers) == 1
            && pcast_ssl_ctx_set_groups(context, groups) == 1
            && SSL_CTX_set_tlsext_use_srtp(context, SRTPProfile.openSSLPreference) == 0
        guard isComplete else {
            SSL_CTX_free(context)
            throw failure("preparing a context")
        }
        return context
    }

    private static func failure(_ step: String) -> DTLSError {
        .openSSL(step: step, reason: OpenSSLErrors.take())
    }
}
