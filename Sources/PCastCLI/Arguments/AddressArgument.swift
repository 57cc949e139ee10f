import ArgumentParser
import PCastCore

/// An IPv4 or IPv6 address.
struct AddressArgument: ExpressibleByArgument, Equatable {
    let address: IPAddress

    init?(argument: String) {
        guard let address = IPAddress(argument) else { return nil }
        self.address = address
    }
}
