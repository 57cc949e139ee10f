import ArgumentParser

/// What a token is good for, in EdgeAuth's words.
enum TokenTypeArgument: String, ExpressibleByArgument, CaseIterable {
    case auth, stream, publish
}
