import ArgumentParser
import PCastMedia

/// A block of addresses as `10.0.0.0/8`, or one address.
struct NetworkArgument: ExpressibleByArgument {
    let network: IPNetwork

    init?(argument: String) {
        guard let network = IPNetwork(argument) else { return nil }
        self.network = network
    }
}
