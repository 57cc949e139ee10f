import COpenSSL
import PCastCore
import Testing

@testable import PCastWebRTC

/// Certificates of other curves than ours (RFC 8827, section 6.5 obliges to P-256 and forbids none).
struct DTLSCurveTests {
    @Test(
        "A peer's certificate may be on any of the usual curves, in both roles",
        arguments: ["P-256", "P-384", "P-521", "secp224r1"], [DTLSRole.client, .server])
    func curves(curve: String, role: DTLSRole) throws {
        let key = try #require(pcast_evp_ec_gen(curve))
        defer { EVP_PKEY_free(key) }
        let certificate = try DTLSCertificate.make(key, at: DTLSTestCertificates.wallTime)
        let ours = OpenSSLHandshake(
            certificate: DTLSTestCertificates.server, role: role == .client ? .server : .client,
            expectedFingerprints: [certificate.fingerprint])
        // Its own list holds its own curve, as GnuTLS has it for secp224r1 and OpenSSL's default has not.
        let groups = ["X25519", "P-256"] + (curve == "P-256" ? [] : [curve])
        let peer = DTLSForeignPeer(role, certificate: certificate, groups: groups.joined(separator: ":"))
        var network =
            role == .client ? DTLSNetwork(client: peer, server: ours) : DTLSNetwork(client: ours, server: peer)
        network.run()
        #expect(ours.keys != nil, "\(ours.state)")
        #expect(peer.isFinished)
    }

    @Test(
        "A client may show a certificate on secp224r1 without listing it, as GnuTLS does",
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

    @Test("Keys are still agreed on by X25519 where the peer has it, and by P-256 where it has not")
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
