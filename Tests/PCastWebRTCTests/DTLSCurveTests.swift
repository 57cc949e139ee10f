import COpenSSL
import PCastCore
import Testing

@testable import PCastWebRTC

/// Certificates on other curves (RFC 8827, section 6.5 requires P-256 and forbids none).
struct DTLSCurveTests {
    @Test(
        "a peer's certificate may be on any of the usual curves, in both roles",
        arguments: ["P-256", "P-384", "P-521", "secp224r1"], [DTLSRole.client, .server])
    func curves(curve: String, role: DTLSRole) throws {
        let key = try #require(pcast_evp_ec_gen(curve))
        defer { EVP_PKEY_free(key) }
        let certificate = try DTLSCertificate.make(key, at: DTLSTestCertificates.wallTime)
        let ours = OpenSSLHandshake(
            certificate: DTLSTestCertificates.server, role: role == .client ? .server : .client,
            expectedFingerprints: [certificate.fingerprint])
        // The peer's list contains its own curve, like GnuTLS for secp224r1 and unlike OpenSSL's default.
        let groups = ["X25519", "P-256"] + (curve == "P-256" ? [] : [curve])
        let peer = DTLSForeignPeer(role, certificate: certificate, groups: groups.joined(separator: ":"))
        var network =
            role == .client ? DTLSNetwork(client: peer, server: ours) : DTLSNetwork(client: ours, server: peer)
        network.run()
        #expect(ours.keys != nil, "\(ours.state)")
        #expect(peer.isFinished)
    }

    @Test(
        "a client may use a certificate on secp224r1 without listing it, like GnuTLS",
        arguments: ["X448", "brainpoolP256r1"])
    func unlisted(spare: String) throws {
        let key = try #require(pcast_evp_ec_gen("secp224r1"))
        defer { EVP_PKEY_free(key) }
        let certificate = try DTLSCertificate.make(key, at: DTLSTestCertificates.wallTime)
        let ours = OpenSSLHandshake(
            certificate: DTLSTestCertificates.server, role: .server, expectedFingerprints: [certificate.fingerprint])
        let peer = DTLSForeignPeer(.client, certificate: certificate, groups: "P-256:X25519:P-384:\(spare)")
        var network = DTLSNetwork(client: peer, server: ours)
        network.run()
        #expect(ours.keys != nil, "\(ours.state)")
        #expect(peer.isFinished)
    }

    @Test("key agreement uses X25519 if the peer supports it, and P-256 otherwise")
    func preference() {
        #expect(DTLSCertificate.groups.hasPrefix("X25519:P-256:"))
        for groups in ["P-521:P-384:P-256", "P-256"] {
            let server = DTLSTestCertificates.ends().server
            let peer = DTLSForeignPeer(.client, certificate: DTLSTestCertificates.client, groups: groups)
            var network = DTLSNetwork(client: peer, server: server)
            network.run()
            #expect(server.keys != nil && peer.isFinished)
        }
    }
}
