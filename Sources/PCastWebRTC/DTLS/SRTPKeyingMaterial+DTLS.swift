import COpenSSL

extension SRTPKeyingMaterial {
    /// Exports the keys of a finished handshake (RFC 5764, section 4.2). Returns nil if OpenSSL fails.
    init?(exportedBy ssl: OpaquePointer, profile: SRTPProfile, role: DTLSRole) {
        let label = "EXTRACTOR-dtls_srtp"
        var exported = [UInt8](repeating: 0, count: profile.keyingMaterialLength)
        let isExported = SSL_export_keying_material(
            ssl, &exported, exported.count, label, label.utf8.count, nil, 0, 0)
        guard isExported == 1 else { return nil }
        self.init(profile: profile, exported: exported, role: role)
    }
}
