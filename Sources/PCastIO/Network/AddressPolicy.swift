import Dispatch
package import PCastCore

/// A policy for addresses from untrusted sources. It permits the public internet and the networks that the operator
/// listed. A name is resolved once, all its addresses are checked, and only one of these is connected to.
package struct AddressPolicy: Sendable {
    /// The networks that are permitted although they are not public.
    package let listed: [IPNetwork]

    /// Creates a policy.
    package init(listed: [IPNetwork]) { self.listed = listed }

    /// Returns whether connections to an address are permitted.
    package func mayReach(_ address: IPAddress) -> Bool {
        address.isPublic || listed.contains { $0.contains(address) }
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

    /// Resolves and checks a host like `evaluate`, on another thread.
    ///
    /// - Throws: ``AddressRejection``.
    package func judged(host: String, port: UInt16) async throws(AddressRejection) -> TransportAddress {
        let result = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(
                    returning: Result { () throws(AddressRejection) in try evaluate(host: host, port: port) })
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
        case .forbidden(let address): "\(address) is not a public address, and is not allowed by configuration"
        }
    }
}
