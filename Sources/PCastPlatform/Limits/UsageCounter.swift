import PCastCore

/// The current number of clients of a kind: all, per application and per address.
struct UsageCounter: Sendable {
    /// The maximum numbers.
    struct Bounds: Sendable {
        var all: Int64
        var application: Int64
        var address: Int64
    }

    /// The limit that was exceeded.
    enum Exceeded: Error { case all, application, address }

    private(set) var count: Int64 = 0
    private var applications: [ApplicationID: Int64] = [:]
    private var addresses: [AddressBlock: Int64] = [:]

    /// Counts a client. `address` is nil if it does not count towards the limit of an address.
    ///
    /// - Throws: ``Exceeded`` if a maximum is reached. Nothing is counted then.
    mutating func enter(
        _ application: ApplicationID?, _ address: AddressBlock?, within bounds: Bounds
    ) throws(Exceeded) {
        guard count < bounds.all else { throw .all }
        if let application, applications[application, default: 0] >= bounds.application { throw .application }
        if let address, addresses[address, default: 0] >= bounds.address { throw .address }
        count += 1
        if let application { applications[application, default: 0] += 1 }
        if let address { addresses[address, default: 0] += 1 }
    }

    mutating func leave(_ application: ApplicationID?, _ address: AddressBlock?) {
        count -= 1
        precondition(count >= 0, "a count must not be decremented below zero")
        if let application { Self.decrease(&applications[application]) }
        if let address { Self.decrease(&addresses[address]) }
    }

    private static func decrease(_ count: inout Int64?) {
        count = count.flatMap { $0 > 1 ? $0 - 1 : nil }
    }

    /// The number of stored applications and addresses.
    var size: Int { applications.count + addresses.count }
}
