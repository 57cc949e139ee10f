import PCastCore
import PCastHLS
import PCastTimeline

/// A revision of a timeline as a date range of a playlist.
extension DateRange {
    /// The class of the date ranges with revisions of a timeline.
    static let timelineClass = "pcast.timeline"
    /// The maximum number of characters of a text in an attribute. The rest is left out.
    private static let textLimit = 300

    /// Creates the date range of a revision, which begins at the gate of the revision. Returns nil for a description of
    /// the game, which is no event.
    ///
    /// Attributes of a date range do not change (RFC 8216bis, section 4.4.5.1), so each revision of an event has its own.
    ///
    /// - Parameters:
    ///   - revision: The revision.
    ///   - gate: The time of the media from which the revision applies.
    ///   - game: The game.
    init?(_ revision: TimelineRevision, gate: WallTime, of game: TimelineGame) {
        guard let id = revision.eventID else { return nil }
        let change: TimelineChangeType
        switch revision.change {
        case .info: return nil
        case .added: change = .added
        case .modified: change = .modified
        case .deleted: change = .deleted
        }
        let event = revision.event
        let total = event?.scorecard?.total
        // In the order of the names.
        let texts: [(name: String, text: String?)] = [
            ("AT", revision.at == gate ? nil : Timestamp.text(revision.at)), ("CHANGE", change.rawValue),
            ("DESCRIPTION", event?.description), ("EVENT-ID", id.description), ("HOME", total?.home),
            ("PERIOD", event?.period), ("TEAM", event?.teamInvolved?.rawValue), ("TYPE", event?.type?.rawValue),
            ("VISITOR", total?.visitor),
        ]
        self.init(
            id: Self.text("\(game)/\(revision.number)"), classID: Self.timelineClass, start: gate,
            attributes: texts.compactMap { name, text in
                text.map { Attribute("X-PCAST-\(name)", .quoted(Self.text($0))) }
            })
    }

    /// Returns a text that a quoted string can hold. Quotation marks are replaced, and so is the beginning of a reference
    /// to a variable (RFC 8216bis, section 4.3), which players would reject.
    private static func text(_ text: String) -> String {
        let scalars = text.unicodeScalars.prefix(textLimit).map { scalar -> Unicode.Scalar in
            switch scalar {
            case "\"": "'"
            case "{": "("
            case "}": ")"
            default: scalar.value < 0x20 || scalar.value == 0x7F ? " " : scalar
            }
        }
        return String(String.UnicodeScalarView(scalars))
    }
}
