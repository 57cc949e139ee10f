import COpenSSL
public import PCastMedia

/// A certificate that nobody vouches for, and its key, both in DER: for TLS where what goes through it is protected anyway.
public struct SelfSignedCertificate: Sendable {
    public let certificate: [UInt8]
    public let key: [UInt8]

    /// ECDSA on P-256, valid from the day before for a year.
    public static func generate(at now: WallTime) throws(DTLSError) -> SelfSignedCertificate {
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
