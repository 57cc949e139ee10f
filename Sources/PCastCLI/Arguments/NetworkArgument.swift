import ArgumentParser
import PCastCore

/// A block of addresses such as `10.0.0.0/8`, or a single address.
struct NetworkArgument: ExpressibleByArgument {
    let network: IPNetwork

    init?(argument: String) {
        guard let network = IPNetwork(argument) else { return nil }
        self.network = network
    }
}
