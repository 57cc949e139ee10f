import COpenSSL
package import PCastCore

/// A self-signed certificate and its key, both in DER. It is for TLS connections whose content is protected otherwise.
package struct SelfSignedCertificate: Sendable {
    /// The X.509 certificate in DER.
    package let certificate: [UInt8]
    /// The private key in DER.
    package let key: [UInt8]

    /// Generates an ECDSA key on P-256 and a certificate that is valid for a year from the day before.
    ///
    /// - Parameter now: The present time.
    /// - Returns: The certificate and its key.
    /// - Throws: ``DTLSError`` if OpenSSL fails.
    package static func generate(at now: WallTime) throws(DTLSError) -> SelfSignedCertificate {
        guard let key = pcast_evp_ec_gen("P-256") else {
            throw .openSSL(step: "making a key", reason: OpenSSLErrors.take())
        }
        defer { EVP_PKEY_free(key) }
        let certificate = try DTLSCertificate.sign(key, at: now)
        defer { X509_free(certificate) }
        var bytes: UnsafeMutablePointer<UInt8>?
        let length = i2d_PrivateKey(key, &bytes)
        guard length > 0, let bytes else { throw .openSSL(step: "writing a key", reason: OpenSSLErrors.take()) }
        defer { CRYPTO_free(bytes, "", 0) }
        return SelfSignedCertificate(
            certificate: X509Certificate.der(certificate),
            key: Array(UnsafeBufferPointer(start: bytes, count: Int(length))))
    }
}
