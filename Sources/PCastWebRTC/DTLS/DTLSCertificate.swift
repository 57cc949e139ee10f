import COpenSSL
public import PCastCore

/// A self-signed certificate and the OpenSSL context of all handshakes that use it. A process needs only one.
///
/// The key is ECDSA on P-256, the signature uses SHA-256, the serial number is random, and the validity is a year from
/// the day before. Peers may also have RSA certificates.
///
/// It is marked `@safe` because it owns the context until `deinit`, and OpenSSL counts the references of the handshakes
/// to it. Other OpenSSL objects are freed by the function that makes them.
@safe
public final class DTLSCertificate: @unchecked Sendable {  // an SSL_CTX is shared between threads by design
    let context: OpaquePointer
    /// The fingerprint for session descriptions.
    public let fingerprint: DTLSFingerprint

    private init(context: OpaquePointer, fingerprint: DTLSFingerprint) {
        unsafe self.context = context
        self.fingerprint = fingerprint
    }

    deinit { unsafe SSL_CTX_free(context) }

    /// Generates a key and a certificate.
    ///
    /// - Parameter now: The current time; the certificate is valid from the day before.
    /// - Returns: The certificate.
    /// - Throws: ``DTLSError`` if OpenSSL fails.
    public static func generate(at now: WallTime) throws(DTLSError) -> DTLSCertificate {
        guard let key = unsafe pcast_evp_ec_gen("P-256") else { throw failure("making a key") }
        defer { unsafe EVP_PKEY_free(key) }
        return try unsafe make(key, at: now)
    }

    /// Creates a certificate for a key, which the caller frees.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - now: The current time.
    /// - Returns: The certificate.
    /// - Throws: ``DTLSError`` if OpenSSL fails.
    static func make(_ key: OpaquePointer, at now: WallTime) throws(DTLSError) -> DTLSCertificate {
        let certificate = try unsafe sign(key, at: now)
        defer { unsafe X509_free(certificate) }
        let context = try unsafe context(key, certificate)
        return unsafe DTLSCertificate(
            context: context, fingerprint: DTLSFingerprint(.sha256, of: X509Certificate.der(certificate)))
    }

    /// Returns a new X.509 certificate that is signed by its own key. The caller frees it.
    ///
    /// - Parameters:
    ///   - key: The key.
    ///   - now: The current time.
    /// - Returns: The X.509 object.
    /// - Throws: ``DTLSError`` if OpenSSL fails.
    static func sign(_ key: OpaquePointer, at now: WallTime) throws(DTLSError) -> OpaquePointer {
        guard let certificate = unsafe X509_new() else { throw failure("making a certificate") }
        let day = 86_400
        let seconds = Int(now.nanosecondsSinceEpoch / 1_000_000_000)
        let name = unsafe X509_get_subject_name(certificate)
        let isComplete =
            unsafe X509_set_version(certificate, 2) == 1 && setSerial(certificate)
            && ASN1_TIME_set(X509_getm_notBefore(certificate), seconds - day) != nil
            && ASN1_TIME_set(X509_getm_notAfter(certificate), seconds + 365 * day) != nil
            && X509_NAME_add_entry_by_txt(name, "CN", 0x1001, "pcast", -1, -1, 0) == 1
            && X509_set_issuer_name(certificate, name) == 1 && X509_set_pubkey(certificate, key) == 1
            && X509_sign(certificate, key, EVP_sha256()) > 0
        guard isComplete else {
            unsafe X509_free(certificate)
            throw failure("signing a certificate")
        }
        return unsafe certificate
    }

    /// Sets a random serial number.
    private static func setSerial(_ certificate: OpaquePointer) -> Bool {
        let number = unsafe BN_new()
        defer { unsafe BN_free(number) }
        // The number has 63 bits with the top one set, so it is positive and has a constant length.
        guard unsafe BN_rand(number, 63, 0, 0) == 1 else { return false }
        return unsafe BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nil
    }

    /// The elliptic curves, in order of preference. OpenSSL also accepts only peer certificates on these curves, and
    /// the certificates of FFmpeg 8 with GnuTLS are on secp224r1.
    static let groups = "X25519:P-256:P-384:P-521:secp224r1"

    /// Returns a context with the certificate, the cipher suites and the SRTP profiles.
    private static func context(
        _ key: OpaquePointer, _ certificate: OpaquePointer
    ) throws(DTLSError) -> OpaquePointer {
        guard let context = unsafe SSL_CTX_new(DTLS_method()) else { throw failure("making a context") }
        unsafe pcast_ssl_ctx_configure_dtls(context)
        unsafe pcast_ssl_ctx_accept_unlisted_curve(context)
        // The peer must send a certificate, and only its fingerprint is checked, not its issuer (RFC 5763, section 5).
        unsafe SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
        unsafe SSL_CTX_set_cert_verify_callback(context, { chain, _ in unsafe OpenSSLHandshake.evaluate(chain) }, nil)
        let ciphers =
            "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305:"
            + "ECDHE-RSA-CHACHA20-POLY1305:ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
            + "ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA:ECDHE-RSA-AES256-SHA"
        let isComplete =
            unsafe SSL_CTX_use_certificate(context, certificate) == 1 && SSL_CTX_use_PrivateKey(context, key) == 1
            && SSL_CTX_set_cipher_list(context, ciphers) == 1
            && pcast_ssl_ctx_set_groups(context, groups) == 1
            && SSL_CTX_set_tlsext_use_srtp(context, SRTPProfile.openSSLPreference) == 0
        guard isComplete else {
            unsafe SSL_CTX_free(context)
            throw failure("preparing a context")
        }
        return unsafe context
    }

    /// Returns the error of a step with OpenSSL's reason.
    private static func failure(_ step: String) -> DTLSError {
        .openSSL(step: step, reason: OpenSSLErrors.take())
    }
}

/// A failure of OpenSSL to create a certificate, which is a fault of the installation.
public enum DTLSError: Error, Hashable, Sendable {
    /// A step failed; `reason` is OpenSSL's message.
    case openSSL(step: String, reason: String)
}

extension DTLSError: CustomStringConvertible {
    /// The step that failed, with OpenSSL's message.
    public var description: String {
        switch self {
        case .openSSL(let step, let reason): "\(step) failed in OpenSSL (\(reason)): check the OpenSSL packages"
        }
    }
}

/// A self-signed certificate and its key, both in DER. It is for TLS connections whose content is protected otherwise.
///
/// Its pointers are safe because ``generate(at:)`` frees each OpenSSL object that it makes, and copies the bytes before.
package struct SelfSignedCertificate: Sendable {
    /// The X.509 certificate in DER.
    package let certificate: [UInt8]
    /// The private key in DER.
    package let key: [UInt8]

    /// Generates an ECDSA key on P-256 and a certificate that is valid for a year from the day before.
    ///
    /// - Parameter now: The current time.
    /// - Returns: The certificate and its key.
    /// - Throws: ``DTLSError`` if OpenSSL fails.
    package static func generate(at now: WallTime) throws(DTLSError) -> SelfSignedCertificate {
        guard let key = unsafe pcast_evp_ec_gen("P-256") else {
            throw .openSSL(step: "making a key", reason: OpenSSLErrors.take())
        }
        defer { unsafe EVP_PKEY_free(key) }
        let certificate = try unsafe DTLSCertificate.sign(key, at: now)
        defer { unsafe X509_free(certificate) }
        var bytes: UnsafeMutablePointer<UInt8>?
        let length = unsafe i2d_PrivateKey(key, &bytes)
        guard length > 0, let bytes = unsafe bytes else {
            throw .openSSL(step: "writing a key", reason: OpenSSLErrors.take())
        }
        defer { unsafe CRYPTO_free(bytes, "", 0) }
        return unsafe SelfSignedCertificate(
            certificate: X509Certificate.der(certificate),
            key: Array(UnsafeBufferPointer(start: bytes, count: Int(length))))
    }
}

/// The encoding of X.509 objects.
///
/// Its pointers are safe because the buffer has the size that OpenSSL states, and the caller keeps the certificate.
enum X509Certificate {
    /// Returns a certificate in DER; empty if OpenSSL fails.
    static func der(_ certificate: OpaquePointer) -> [UInt8] {
        let size = unsafe Int(i2d_X509(certificate, nil))
        guard size > 0 else { return [] }
        return unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            var cursor = buffer.baseAddress
            count = unsafe max(0, Int(i2d_X509(certificate, &cursor)))
        }
    }
}

/// Access to OpenSSL's error queue of the current thread.
///
/// Its pointers are safe because OpenSSL writes at most the size of the buffer, with the final zero.
enum OpenSSLErrors {
    /// Returns the message of the oldest error and clears the queue.
    static func take() -> String {
        let code = ERR_get_error()
        ERR_clear_error()
        guard code != 0 else { return "no reason given" }
        return unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { buffer in
            unsafe ERR_error_string_n(code, buffer.baseAddress, buffer.count)
            return unsafe String(cString: buffer.baseAddress!)
        }
    }
}
