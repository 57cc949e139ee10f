import ArgumentParser

/// An application and its secret, written as `ID:SECRET`. The secret may contain colons.
struct ApplicationArgument: ExpressibleByArgument, Equatable {
    let id: String
    let secret: String

    init(id: String, secret: String) {
        self.id = id
        self.secret = secret
    }

    init?(argument: String) {
        guard let colon = argument.firstIndex(of: ":") else { return nil }
        id = String(argument[..<colon])
        secret = String(argument[argument.index(after: colon)...])
        guard !id.isEmpty, !secret.isEmpty else { return nil }
    }
}

/// The text forms do not contain the secret, so that logs do not reveal it.
extension ApplicationArgument: CustomStringConvertible, CustomReflectable {
    var description: String { "\(id):…" }

    var customMirror: Mirror { Mirror(self, children: ["id": id]) }
}

/// The type of a token, with the names of EdgeAuth.
enum TokenTypeArgument: String, ExpressibleByArgument, CaseIterable {
    case auth, stream, publish
}
