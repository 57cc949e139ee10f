import ArgumentParser

/// A range of ports such as `9000-9010`, or one port.
struct PortsArgument: ExpressibleByArgument {
    let ports: ClosedRange<UInt16>

    init?(argument: String) {
        let parts = argument.split(separator: "-", omittingEmptySubsequences: false).map { UInt16($0) }
        guard (1...2).contains(parts.count), let first = parts[0], let last = parts[parts.count - 1], first > 0,
            first <= last
        else { return nil }
        ports = first...last
    }
}
