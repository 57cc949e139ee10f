import ArgumentParser
import PCastPlatform

/// The header field of a proxy: `x-forwarded-for` or `forwarded`.
struct ProxyFieldArgument: ExpressibleByArgument {
    let field: ProxyField

    init?(argument: String) {
        guard let field = ProxyField(rawValue: argument.lowercased()) else { return nil }
        self.field = field
    }
}
