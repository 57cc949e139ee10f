import ArgumentParser
import PCastPlatform

/// The header field of a proxy: `x-forwarded-for` or `forwarded`.
struct ProxyFieldArgument: ExpressibleByArgument {
    let field: ForwardedHeader

    init?(argument: String) {
        guard let field = ForwardedHeader(rawValue: argument.lowercased()) else { return nil }
        self.field = field
    }
}
