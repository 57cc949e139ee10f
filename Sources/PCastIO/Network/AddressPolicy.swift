import CLinux
import Glibc
package import PCastCore

/// A policy for addresses from untrusted sources. It permits the public internet without the addresses of this host, and
/// the networks that the operator listed. A name is resolved once, all its addresses are checked, and only one of these
/// is connected to.
package struct AddressPolicy: Sendable {
    /// The networks that are permitted even if their addresses are not public or belong to this host.
    package let listed: [IPNetwork]
    /// Returns the addresses of this host.
    private let own: @Sendable () -> [IPAddress]

    /// Creates a policy.
    ///
    /// - Parameters:
    ///   - listed: The networks that are permitted even if their addresses are not public or belong to this host.
    ///   - own: A function that returns the addresses of this host. It is called at each check, because they change.
    package init(listed: [IPNetwork], own: @escaping @Sendable () -> [IPAddress] = AddressPolicy.interfaceAddresses) {
        self.listed = listed
        self.own = own
    }

    /// Returns the addresses of this host's interfaces that are up; empty if the kernel does not list them.
    package static func interfaceAddresses() -> [IPAddress] { ((try? LocalAddress.all()) ?? []).map(\.ip) }

    /// Returns whether connections to an address are permitted.
    ///
    /// A public address of this host is not, because services may trust connections from the host itself, or may be
    /// unreachable from elsewhere by a firewall.
    package func mayReach(_ address: IPAddress) -> Bool {
        listed.contains { $0.contains(address) } || address.isPublic && !isOwn(address)
    }

    /// Returns whether an address, or the IPv4 address to which a translator forwards, belongs to this host.
    private func isOwn(_ address: IPAddress) -> Bool {
        let own = own()
        return own.contains(address) || address.embedded.map { own.contains($0) } ?? false
    }

    /// Resolves a host, checks all of its addresses, and returns the first one. It blocks while the system resolves the
    /// name. `host` is a name or an address in any form that the system accepts, IPv6 without brackets.
    ///
    /// - Throws: ``AddressRejection``.
    package func evaluate(host: String, port: UInt16) throws(AddressRejection) -> TransportAddress {
        let found = NameResolution.resolve(host: host, port: port)
        guard let first = found.first else { throw .unknown(host: host) }
        if let refused = found.first(where: { !mayReach($0.ip) }) { throw .forbidden(refused.ip) }
        return first
    }

    /// Resolves and checks a host like `evaluate`, on a thread of its own. A name whose DNS server does not respond blocks
    /// its thread for seconds, and must not delay other names. Callers bound the number of simultaneous calls.
    ///
    /// - Throws: ``AddressRejection``, `unknown` also if the system has no more threads.
    package func resolveAndCheck(host: String, port: UInt16) async throws(AddressRejection) -> TransportAddress {
        let result: Result<TransportAddress, AddressRejection> = await withCheckedContinuation { continuation in
            do throws(IOError) {
                _ = try WorkerThread(name: "resolve") {
                    continuation.resume(
                        returning: Result { () throws(AddressRejection) in try evaluate(host: host, port: port) })
                }
            } catch {
                continuation.resume(returning: .failure(.unknown(host: host)))
            }
        }
        return try result.get()
    }
}

/// The reason why an address is not permitted.
package enum AddressRejection: Error, Hashable, Sendable {
    case unknown(host: String)
    case forbidden(IPAddress)
}

extension AddressRejection: CustomStringConvertible {
    /// The reason in English.
    package var description: String {
        switch self {
        case .unknown(let host): "the host name \(host) has no address"
        case .forbidden(let address):
            "\(address) is not a public address of another host, and is not allowed by configuration"
        }
    }
}

/// Resolution of host names by the system. It blocks, so it is only for the start of a program or for threads that may
/// block. The thread of an event loop must not wait for a DNS server.
package enum NameResolution {
    /// Resolves text such as `203.0.113.7:3478`, `[2001:db8::1]:3478` or `stun.example.org:3478`. Returns the addresses
    /// in the system's order; empty if there are none.
    package static func resolve(_ text: String) -> [TransportAddress] {
        if let address = TransportAddress(text) { return [address] }
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            return []
        }
        return resolve(host: String(text[..<colon]), port: port)
    }

    /// Resolves a name or an address, IPv6 without brackets, as other programs of this host do. Numbers in any form
    /// that the system accepts are addresses too. Returns an empty array if there are none.
    package static func resolve(host: String, port: UInt16) -> [TransportAddress] {
        var hints = addrinfo()
        hints.ai_socktype = Int32(CLINUX_SOCK_DGRAM)
        var first: UnsafeMutablePointer<addrinfo>?
        guard getaddrinfo(host, nil, &hints, &first) == 0 else { return [] }
        defer { freeaddrinfo(first) }
        var found: [TransportAddress] = []
        var next = first
        while let entry = next {
            if let name = entry.pointee.ai_addr, var address = SocketAddress.read(from: UnsafeRawPointer(name)) {
                address.port = port
                if !found.contains(address) { found.append(address) }
            }
            next = entry.pointee.ai_next
        }
        return found
    }
}
