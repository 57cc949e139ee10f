import ArgumentParser

/// The type of a token, with the names of EdgeAuth.
enum TokenTypeArgument: String, ExpressibleByArgument, CaseIterable {
    case auth, stream, publish
}
