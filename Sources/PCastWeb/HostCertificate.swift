import Crypto
import Foundation
package import PCastCore
import SwiftASN1
import X509

/// A self-signed certificate for the names and addresses of this host, with its key, in one PEM file.
///
/// Browsers warn about it, because no authority has signed it. The user compares the fingerprint and makes an exception.
package struct HostCertificate: Sendable {
    /// The names and addresses of a host.
    package struct Names: Hashable, Sendable {
        /// The DNS names.
        package var names: [String]
        /// The IP addresses.
        package var addresses: [IPAddress]

        /// Creates a list. Names that are not DNS names are left out, and so is whatever exceeds 64 entries.
        package init(names: [String], addresses: [IPAddress]) {
            var (seenNames, seenAddresses): (Set<String>, Set<IPAddress>) = ([], [])
            self.names = Array(
                names.filter { Self.isName($0) && seenNames.insert($0).inserted }.prefix(Self.maximumCount))
            self.addresses = Array(
                addresses.filter { !$0.isUnspecified && seenAddresses.insert($0).inserted }.prefix(Self.maximumCount))
        }

        private static let maximumCount = 64

        /// Returns whether text is a DNS name (RFC 1123, section 2.1).
        private static func isName(_ text: String) -> Bool {
            let labels = text.split(separator: ".", omittingEmptySubsequences: false)
            return text.utf8.count <= 253
                && labels.allSatisfy { label in
                    (1...63).contains(label.utf8.count) && label.first != "-" && label.last != "-"
                        && label.utf8.allSatisfy {
                            switch $0 {
                            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
                                true
                            default: false
                            }
                        }
                }
        }
    }

    private static let day = TimeInterval(86_400)
    /// No browser accepts a longer time than 398 days of public certificates, or 825 days of all others.
    private static let validity = 397 * day
    /// The remaining validity below which the certificate is renewed.
    private static let renewalTime = 30 * day

    private let certificate: Certificate
    /// The certificate and its key as PEM.
    package let pem: String

    /// Creates a certificate with a new key. It is valid from the day before, because the clocks of phones differ.
    ///
    /// - Throws: ``WebError/certificate(_:)``.
    package init(for names: Names, at now: WallTime) throws(WebError) {
        do {
            let key = P256.Signing.PrivateKey()
            let start = Self.date(now) - Self.day
            let subject = try DistinguishedName {
                CommonName(names.names.first ?? names.addresses.first.map { "\($0)" } ?? "pcast")
                OrganizationName("PCast, self-signed")
            }
            certificate = try Certificate(
                version: .v3, serialNumber: Certificate.SerialNumber(), publicKey: .init(key.publicKey),
                notValidBefore: start, notValidAfter: start + Self.validity, issuer: subject, subject: subject,
                signatureAlgorithm: .ecdsaWithSHA256,
                extensions: try Certificate.Extensions {
                    // Without the extension for the usage of the key, clients also accept it as its own issuer.
                    Critical(BasicConstraints.notCertificateAuthority)
                    try ExtendedKeyUsage([.serverAuth])
                    SubjectAlternativeNames(
                        names.names.map { .dnsName($0) }
                            + names.addresses.map { .ipAddress(ASN1OctetString(contentBytes: Self.bytes($0)[...])) })
                },
                issuerPrivateKey: .init(key))
            pem = try certificate.serializeAsPEM().pemString + "\n" + key.pemRepresentation + "\n"
        } catch {
            throw .certificate("a self-signed certificate could not be made: \(error)")
        }
    }

    /// Reads what ``pem`` contains.
    ///
    /// - Throws: ``WebError/certificate(_:)``.
    package init(pem: String) throws(WebError) {
        do {
            let documents = try PEMDocument.parseMultiple(pemString: pem)
            guard let document = documents.first(where: { $0.discriminator == Certificate.defaultPEMDiscriminator })
            else { throw WebError.certificate("the file contains no certificate") }
            certificate = try Certificate(pemDocument: document)
            self.pem = pem
        } catch let error as WebError {
            throw error
        } catch {
            throw .certificate("the file contains no certificate: \(error)")
        }
    }

    /// Returns whether the certificate is valid for another month, and for all names and the IPv4 addresses of a list.
    ///
    /// IPv6 addresses do not count, because hosts have temporary ones that change each day (RFC 8981). Names and addresses
    /// that the host does not have any more do not count either: each new certificate makes browsers warn again.
    package func isCurrent(for names: Names, at now: WallTime) -> Bool {
        let date = Self.date(now)
        guard certificate.notValidBefore <= date, certificate.notValidAfter - Self.renewalTime > date,
            let alternatives = try? certificate.extensions.subjectAlternativeNames
        else { return false }
        return names.names.allSatisfy { alternatives.contains(.dnsName($0)) }
            && names.addresses.filter { $0.family == .v4 }.allSatisfy {
                alternatives.contains(.ipAddress(ASN1OctetString(contentBytes: Self.bytes($0)[...])))
            }
    }

    private static func date(_ time: WallTime) -> Date {
        Date(timeIntervalSince1970: TimeInterval(time.millisecondsSinceEpoch) / 1_000)
    }

    /// Returns the bytes of an address in network order.
    private static func bytes(_ address: IPAddress) -> [UInt8] {
        if let v4 = address.v4 { return withUnsafeBytes(of: v4.bigEndian) { Array($0) } }
        let (high, low) = address.v6
        return withUnsafeBytes(of: high.bigEndian) { Array($0) } + withUnsafeBytes(of: low.bigEndian) { Array($0) }
    }
}
