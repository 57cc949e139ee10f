import ArgumentParser
import PCastPlatform

/// `x-forwarded-for` or `forwarded`.
struct ProxyFieldArgument: ExpressibleByArgument {
    let field: ProxyField

    init?(argument: String) {
        guard let field = ProxyField(rawValue: argument.lowercased()) else { return nil }
        self.field = field
    }
}
