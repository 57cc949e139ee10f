import COpenSSL

/// The encoding of X.509 objects.
enum X509Certificate {
    /// Returns a certificate in DER; empty if OpenSSL fails.
    static func der(_ certificate: OpaquePointer) -> [UInt8] {
        let size = Int(i2d_X509(certificate, nil))
        guard size > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            var cursor = buffer.baseAddress
            count = max(0, Int(i2d_X509(certificate, &cursor)))
        }
    }
}
