import COpenSSL

/// X.509 as bytes.
enum X509Certificate {
    static func der(_ certificate: OpaquePointer) -> [UInt8] {
        let size = Int(i2d_X509(certificate, nil))
        guard size > 0 else { return [] }
        return [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            var cursor = buffer.baseAddress
            count = max(0, Int(i2d_X509(certificate, &cursor)))
        }
    }
}
