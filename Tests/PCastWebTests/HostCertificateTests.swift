import Foundation
import PCastCore
import Testing

@testable import PCastWeb

@Suite struct HostCertificateTests {
    private static let start = WallTime(millisecondsSinceEpoch: 1_790_000_000_000)

    private static func days(_ count: Int64) -> WallTime {
        WallTime(millisecondsSinceEpoch: start.millisecondsSinceEpoch + count * 86_400_000)
    }

    private func names(_ names: [String], _ addresses: [String]) -> HostCertificate.Names {
        HostCertificate.Names(names: names, addresses: addresses.compactMap { IPAddress($0) })
    }

    @Test("a certificate is current for its names until a month before its end") func validity() throws {
        let own = names(["studio", "studio.local"], ["192.0.2.7", "2001:db8::7"])
        let made = try HostCertificate(for: own, at: Self.start)
        let certificate = try HostCertificate(pem: made.pem)
        for day in [Int64(0), 1, 365] { #expect(certificate.isCurrent(for: own, at: Self.days(day)), "\(day)") }
        for day in [Int64(-2), 366, 397, 4_000] {
            #expect(!certificate.isCurrent(for: own, at: Self.days(day)), "\(day)")
        }
    }

    @Test("another name or IPv4 address needs another certificate; fewer ones and IPv6 addresses do not")
    func coverage() throws {
        let own = names(["studio", "studio.local"], ["192.0.2.7", "2001:db8::7"])
        let certificate = try HostCertificate(for: own, at: Self.start)
        for other in [
            names(["studio"], ["192.0.2.7"]), names([], []), names(["studio"], ["192.0.2.7", "2001:db8::8"]),
        ] {
            #expect(certificate.isCurrent(for: other, at: Self.start), "\(other)")
        }
        for other in [names(["studio", "stage"], ["192.0.2.7"]), names(["studio"], ["192.0.2.8"])] {
            #expect(!certificate.isCurrent(for: other, at: Self.start), "\(other)")
        }
    }

    @Test("only DNS names and distinct addresses are in a certificate, at most 64 of each") func entries() throws {
        let label = String(repeating: "x", count: 64)
        let given = names(
            ["a", "a", "b-c.example", "", "-a", "a-", "ü", "a b", "a..b", "a\0b", "*.example", label],
            ["192.0.2.7", "192.0.2.7", "0.0.0.0", "::"])
        #expect(given.names == ["a", "b-c.example"])
        #expect(given.addresses == [IPAddress("192.0.2.7")])
        let many = HostCertificate.Names(names: (0..<1_000).map { "n\($0)" }, addresses: [])
        #expect(many.names.count == 64)
        _ = try HostCertificate(for: names([], []), at: Self.start)
    }

    @Test("each certificate has its own key and fingerprint, and serves TLS") func keys() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pcast-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let fingerprints = try (0..<2).map { index in
            let path = folder.appendingPathComponent("\(index).pem").path
            let certificate = try HostCertificate(for: names(["studio"], []), at: Self.start)
            try certificate.pem.write(toFile: path, atomically: true, encoding: .utf8)
            return try TLSIdentity(certificate: path, key: path).fingerprint
        }
        #expect(fingerprints[0] != fingerprints[1])
        for fingerprint in fingerprints {
            let pairs = fingerprint.split(separator: ":")
            #expect(pairs.count == 32)
            #expect(pairs.allSatisfy { $0.count == 2 && UInt8($0, radix: 16) != nil })
        }
    }

    @Test(
        "a file without a certificate is an error",
        arguments: ["", "x", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
    func broken(_ text: String) {
        #expect(throws: WebError.self) { try HostCertificate(pem: text) }
    }
}
