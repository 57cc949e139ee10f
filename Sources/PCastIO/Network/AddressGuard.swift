import Dispatch
public import PCastMedia

/// Judges addresses that strangers have named: the public internet may be reached, and what the operator has listed
/// beside it. A name is resolved once, every address that it has is judged, and only an answer of this is connected to.
public struct AddressGuard: Sendable {
    /// Networks that are reached although they are not public.
    public let listed: [IPNetwork]

    public init(listed: [IPNetwork]) { self.listed = listed }

    public func mayReach(_ address: IPAddress) -> Bool {
        address.isPublic || listed.contains { $0.contains(address) }
    }

    /// Where to connect to. Blocks as long as the system's resolver takes.
    ///
    /// - Parameter host: a name or an address in any form that programs take for one, IPv6 without brackets.
    public func judge(host: String, port: UInt16) throws(AddressRefusal) -> TransportAddress {
        let found = NameResolution.resolve(host: host, port: port)
        guard let first = found.first else { throw .unknown(host: host) }
        if let refused = found.first(where: { !mayReach($0.ip) }) { throw .forbidden(refused.ip) }
        return first
    }

    /// The same, on a thread that may wait.
    public func judged(host: String, port: UInt16) async throws(AddressRefusal) -> TransportAddress {
        let result = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(
                    returning: Result { () throws(AddressRefusal) in try judge(host: host, port: port) })
            }
        }
        return try result.get()
    }
}

/// Why an address is not connected to.
public enum AddressRefusal: Error, Hashable, Sendable {
    case unknown(host: String)
    case forbidden(IPAddress)
}

extension AddressRefusal: CustomStringConvertible {
    public var description: String {
        switch self {
        case .unknown(let host): "the name \(host) has no address"
        case .forbidden(let address): "\(address) is not public, and not listed"
        }
    }
}
