import COpenSSL
import PCastCore
import Testing

@testable import PCastWebRTC

/// Handshakes with peers of other implementations, and with peers of a wrong identity.
struct DTLSPeerTests {
    private let certificates = DTLSTestCertificates.self

    @Test(
        "each of the three profiles is agreed on if the peer has only that one",
        arguments: [
            ("SRTP_AEAD_AES_128_GCM", SRTPProfile.aeadAES128GCM), ("SRTP_AEAD_AES_256_GCM", .aeadAES256GCM),
            ("SRTP_AES128_CM_SHA1_80", .aes128CMHMACSHA1),
            ("SRTP_AES128_CM_SHA1_80:SRTP_AEAD_AES_256_GCM:SRTP_AEAD_AES_128_GCM", .aeadAES128GCM),
        ])
    func profiles(_ offered: String, _ expected: SRTPProfile) {
        let peer = DTLSForeignPeer(.client, certificate: certificates.client, profiles: offered)
        let server = certificates.ends().server
        var network = DTLSNetwork(client: peer, server: server)
        network.run()
        #expect(server.keys?.profile == expected)
        #expect(peer.isFinished)
    }

    @Test("one matching fingerprint of several is enough, with SHA-256, SHA-384 or SHA-512 in either case")
    func matchingFingerprint() throws {
        let certificate = try #require(SSL_CTX_get0_certificate(certificates.client.context))
        let der = X509Certificate.der(certificate)
        let wrong = certificates.server.fingerprint
        for algorithm in [DTLSFingerprint.Algorithm.sha256, .sha384, .sha512] {
            let digest = DTLSFingerprint(algorithm, of: der)
            let upper = FingerprintAttribute(algorithm: algorithm.rawValue.uppercased(), bytes: digest.bytes)
            let server = OpenSSLHandshake(
                certificate: certificates.server, role: .server,
                expectedFingerprints: [wrong, try #require(DTLSFingerprint(upper))])
            var network = DTLSNetwork(client: certificates.ends().client, server: server)
            network.run()
            #expect(server.keys != nil)
        }
        #expect(DTLSFingerprint(FingerprintAttribute(algorithm: "sha-1", bytes: [1])) == nil)
    }

    @Test("with the wrong certificate no end has keys, and the peer is alerted at once", arguments: [true, false])
    func mismatch(_ isServerDeceived: Bool) {
        let honest = certificates.ends()
        let deceived = OpenSSLHandshake(
            certificate: isServerDeceived ? certificates.server : certificates.client,
            role: isServerDeceived ? .server : .client, expectedFingerprints: [certificates.make().fingerprint])
        var network = DTLSNetwork(
            client: isServerDeceived ? honest.client : deceived, server: isServerDeceived ? deceived : honest.server)
        let start = network.now
        network.run()
        #expect(deceived.state == .failed(.fingerprintMismatch))
        let other = isServerDeceived ? honest.client : honest.server
        guard case .failed(.protocolError) = other.state else {
            Issue.record("the peer is \(other.state)")
            return
        }
        #expect(network.now - start < .milliseconds(500))
    }

    @Test("without an expected fingerprint no peer is accepted")
    func noFingerprint() {
        let server = OpenSSLHandshake(certificate: certificates.server, role: .server, expectedFingerprints: [])
        var network = DTLSNetwork(client: certificates.ends().client, server: server)
        network.run()
        #expect(server.state == .failed(.fingerprintMismatch))
    }

    @Test("a peer without a certificate, and one without a profile, fail with that reason")
    func refusals() {
        let server = certificates.ends().server
        var first = DTLSNetwork(client: DTLSForeignPeer(.client, certificate: nil), server: server)
        first.run()
        #expect(server.state == .failed(.noCertificate))
        let client = certificates.ends().client
        let peer = DTLSForeignPeer(.server, certificate: certificates.server, profiles: nil)
        var second = DTLSNetwork(client: client, server: peer)
        second.run()
        #expect(client.state == .failed(.noProfile))
    }

    @Test("a peer that offers only ECDSA suites finds one")
    func ecdsaOnly() {
        let peer = DTLSForeignPeer(
            .client, certificate: certificates.client,
            ciphers: "ECDHE-ECDSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA:ECDHE-ECDSA-CHACHA20-POLY1305")
        let server = certificates.ends().server
        var network = DTLSNetwork(client: peer, server: server)
        network.run()
        #expect(server.keys != nil)
    }

    @Test(
        "a certificate is valid from the day before for a year, is self-issued, and has its own serial number"
    )
    func certificateFields() throws {
        let first = try #require(SSL_CTX_get0_certificate(certificates.client.context))
        let second = try #require(SSL_CTX_get0_certificate(certificates.server.context))
        let seconds = Int(certificates.wallTime.nanosecondsSinceEpoch / 1_000_000_000)
        #expect(ASN1_TIME_cmp_time_t(X509_get0_notBefore(first), seconds - 86_400) == 0)
        #expect(ASN1_TIME_cmp_time_t(X509_get0_notAfter(first), seconds + 365 * 86_400) == 0)
        #expect(X509_NAME_cmp(X509_get_subject_name(first), X509_get_issuer_name(first)) == 0)
        #expect(X509_NAME_entry_count(X509_get_subject_name(first)) == 1)
        #expect(ASN1_INTEGER_cmp(X509_get0_serialNumber(first), X509_get0_serialNumber(second)) != 0)
        #expect(X509_get_signature_nid(first) == NID_ecdsa_with_SHA256)
        #expect(X509_verify(first, X509_get0_pubkey(first)) == 1)
    }
}
