import PCastCore

/// The request of a viewer to receive a channel by its name also before there is a presenter. Its session has no media until
/// one presents, and then follows all presenters.
enum PresenterAwait: String, Sendable {
    /// The viewer accepts the selection of the channel.
    case any = ""
    /// The viewer expects the presenter with the newest change.
    case mostRecent = "most-recent"
    /// The viewer expects that the selected presenter stays while it is available.
    case highAvailability = "high-availability"

    /// The name of the option of `CreateStream`, with a selection after an equals sign.
    private static let option = "await-presenter"

    /// Reads the options of a client; nil without such an option, or with an unknown selection.
    init?(options: [String]) {
        guard let option = options.first(where: { $0 == Self.option || $0.hasPrefix(Self.option + "=") }) else {
            return nil
        }
        self.init(rawValue: String(option.dropFirst(Self.option.count + 1)))
    }

    /// Reads the query of a WHEP address, `await=presenter` or a selection; nil for another one.
    init?(query: Substring?) {
        guard let query, !query.isEmpty else { return nil }
        if query == "presenter" { self = .any } else { self.init(rawValue: String(query)) }
    }

    /// The option of `CreateStream`.
    var option: String { self == .any ? Self.option : "\(Self.option)=\(rawValue)" }

    /// Whether the presenter of a channel is selected as the viewer expects.
    func accepts(_ channel: PresentedChannel) -> Bool {
        self == .any || channel.keepsPresenter == (self == .highAvailability)
    }
}
