import Foundation
import Testing

/// The words that the repository does not use, each with the better one. `docs/GLOSSARY.md` has the reasons.
private enum Vocabulary {
    /// A pattern, the better word, and the parts of words of which a text contains one where the pattern matches.
    typealias Word = (pattern: String, better: String, parts: String)

    /// Patterns for comments, string literals and documents.
    static let prose: [Word] = [
        (#"(?i)\bseeds? 0?[0-9]+\b"#, "the reason, with a public source", "seed"),
        (#"(?i)\bgatekeepers?\b"#, "token authenticator", "gatekeeper"),
        (#"(?i)\bparcels?\b"#, "shard message", "parcel"),
        (#"(?i)\bblueprints?\b"#, "snapshot", "blueprint"),
        (#"(?i)\bfarewells?\b"#, "close_notify, or the message by its name", "farewell"),
        (#"(?i)\bhopeless(ly)?\b"#, "unrecoverable", "hopeless"),
        (#"(?i)\bdespairs?\b"#, "abandons the gap", "despair"),
        (#"(?i)\bdrown(s|ed|ing)?\b"#, "is stale", "drown"),
        (#"(?i)\bbefriend(s|ed|ing)?\b"#, "allows", "befriend"),
        (#"(?i)\b(dis)?obe(ys?|yed|ying|dience)\b"#, "honors, or reaction time", "obe"),
        (#"(?i)\bpatien(ce|t|tly)\b"#, "timeout", "patien"),
        (#"(?i)\bstrangers?\b"#, "unknown source, or unauthenticated client", "stranger"),
        (#"(?i)\banew\b"#, "again, or restarts", "anew"),
        (#"(?i)\bgo(es)? on\b"#, "continues, or resumes", "go on,goes on"),
        (#"(?i)\b(is|are|was|were|be|been) told\b"#, "receives, or is notified", " told"),
        (#"(?i)\btakers?\b"#, "subscriber, or sink", "taker"),
        (#"(?i)\bloudspeakers?\b"#, "audio output", "loudspeaker"),
        (#"(?i)\b(pictures|frames) a second\b"#, "frame rate, or frames per second", "s a second"),
        (
            #"(?i)(?<!(still|rence|IDR|coded) )(?<!["/])\bpictures?\b(?! (ID|par|ord|los|cod|hea|st))(?!["./_-])"#,
            "frame", "picture"
        ),
        (#"(?i)(?<![/."-])\bsounds?\b(?! cards?)(?!["./_-])"#, "audio", "sound"),
        (#"(?i)\bcannot be had\b"#, "is unavailable, or unsatisfied", "be had"),
        (#"(?i)\bwish(es|ed)?\b(?!-)"#, "ideal constraint, or request", "wish"),
        (#"(?i)\b(kept|keeps|puts?) aside\b"#, "failed", "aside"),
        (#"(?i)\bhand(s|ed|ing)? over\b"#, "forwards, or transfers", "over"),
        (#"(?i)\bdoors?\b"#, "endpoint, route or protocol", "door"),
        (#"(?i)\blasting (things|data)\b"#, "persistent data", "lasting"),
    ]

    /// Patterns for names in code, comments and documents.
    static let names: [Word] = [
        (
            #"\b[A-Z][A-Za-z]+Door\b"#,
            "…Controller, …Routes or …API", "door"
        ),
        (
            #"\b(Gatekeeper|Visitor|Refusal)\b"#,
            "TokenAuthenticator, ClientContext, APIError", "gatekeeper,visitor,refusal"
        ),
        (#"\b(Seat|Census|BitrateCeiling)\b"#, "QuotaReservation, UsageCounter, BitrateLimit", "seat,census,ceiling"),
        (#"\b(NotificationCourier|Alarm)\b"#, "WebhookDispatcher, DebouncedTimer", "courier,alarm"),
        (
            #"\b(TideMark|RelayOffers|RelayDetour)\b"#,
            "HeapTrimPolicy, TURNCredentialProvider, TURNFallback", "tide,relay"
        ),
        (#"\b(GuardedRelay|GuardedPlace|AddressGuard)\b"#, "OutboundProxy, OutboundPolicy, AddressPolicy", "guard"),
        (
            #"\b(ParcelBatch|Neighbours|StreamBlueprint|TrackOutline)\b"#,
            "ShardMessageBatch, ShardLinks, StreamSnapshot, TrackSnapshot", "parcel,neighbour,blueprint,outline"
        ),
        (#"\b(?!inPlace|notInPlace)[A-Za-z]+Place\b"#, "…Index, …Target, …Reservation, by its role", "place"),
        (#"\b(Nearness|bringNear|calmDeadlines?)\b"#, "Prefetch, prefetch, deferrableDeadlines", "near,calm"),
        (
            #"\b(HopLimit|LinkDrain|VideoDrain|ForeignQueue)\b"#,
            "LinkLimitation, CongestionPause, VideoPause, CrossTrafficDetector", "hoplimit,drain,foreign"
        ),
        (
            #"\b(isHopeless|isDrowning|shakeHands|handleMoved)\b"#,
            "isUnrecoverable, isSendQueueStale, processHandshakes, handleMigration", "hopeless,drown,shake,moved"
        ),
        (
            #"\b(\w+Patience|[a-z]+Patience\w*|judgeLife|noteLife)\b"#,
            "…Timeout, checkLiveness, markAlive", "patience,life"
        ),
        (
            #"\b(CarriedFormat|MediaIntent|EditedAnswer)\b"#,
            "SourceFormat, AnswerOptions, MungedAnswer", "carried,intent,edited"
        ),
        (
            #"\b(WorkOrder|StreamWork|WorkAdmission|Participation|AwaitedStreams)\b"#,
            "IngestJob, IngestJobRunner, JobPolicy, PeerSession, PendingReconnects", "work,participation,awaited"
        ),
        (
            #"\b(SocketChoice|DatagramRun|SegmentationRoutes|PatientDatagrams|ReadingPace)\b"#,
            "ReuseportSteering, GSOBatch, GSOSupport, DeferredReceive, ReceiveCoalescing",
            "choice,datagramrun,routes,patient,pace"
        ),
        (
            #"\b(SourceSlot|CleanSound|EchoRemover|DueSound|StallMemory|CalmPath)\b"#,
            "SwitchableSource, EchoCancelledInput, EchoCancellationProcessor, AudioSchedule, StallHistory, …",
            "slot,sound,remover,memory,calm"
        ),
        (
            #"\b(RestlessSession|LightCrowd|Undrained|TollMeter|TimelineCrowd)\b"#,
            "ChurnClient, LoadGenerator, NonReadingViewers, WorkMeter, TimelineLoad", "restless,crowd,undrained,toll"
        ),
        (#"\b(?!SoundCard)\w*[a-z]Sounds?(?![a-z])\w*\b|\b(?!SoundCard)Sounds?[A-Z]\w*\b"#, "…Audio…", "sound"),
        (
            #"\b\w*[a-z](?<!tl0)Pictures?(?!ID|Offset|Index|Parameter|Loss|Order)(?![a-z])\w*\b|\bPictures?[A-Z]\w*\b"#,
            "…Frame…", "picture"
        ),
        (#"\b(is|has|last|to|un)Told\b|\btold[A-Z]\w*\b"#, "reported, or notified", "told"),
    ]

    /// Patterns for names in code alone, because comments use some of these words in their ordinary sense.
    static let code: [Word] = [
        (
            #"\b(told|untold|wishes|wish|takers?|doors?|farewell|loudspeaker|neighbours?|strangers?|parcels?)\b"#,
            "the word of docs/GLOSSARY.md", "told,wish,taker,door,farewell,loudspeaker,neighbour,stranger,parcel"
        )
    ]

    /// Patterns for pages.
    static let pages: [Word] = [
        (#"\b(All of it|nothing is held back)\b"#, "Good", "all of it,held back"),
        (#"(?i)\broom on the way out\b"#, "Available bandwidth", "way out"),
        (#"(?i)\blost on the way out\b"#, "Packets lost", "way out"),
        (#"\bSent again\b"#, "Retransmitted", "again"),
        (#"\bComing in\b"#, "Ingress", "coming"),
        (#"\bEnded lately\b"#, "Recently ended", "lately"),
        (#"\b(What happened|Nothing has happened yet)\b"#, "Events, or No events yet", "happened"),
        (#"(?i)\b(kept|keeps|puts?) aside\b"#, "Failed", "aside"),
        (
            #"\b(Gatekeeper|Visitor|Refusal|told|farewell)\b"#,
            "the word of docs/GLOSSARY.md", "gatekeeper,visitor,refusal,told,farewell"
        ),
    ]

    /// The names of formats and algorithms that look like private identifiers.
    static let identifiers: Set<String> = [
        "VP8", "VP9", "AV1", "ID3", "MP3", "MP4", "TS1", "AMF0", "AMF3", "SHA1", "MD5", "CRC8", "NAT64", "IPV4", "IPV6",
        "NV12", "NV16", "NV21", "NV61", "YU12", "YV12", "RGB3", "BGR3", "RGB24", "AR24", "XR24", "AB24", "XB24", "BA24",
        "BX24", "XR15", "X11", "ARM64", "PT0", "CC1", "CC4", "DA1", "SS3", "SCTE35", "UTF8", "RFC1",
    ]
}

/// A text of the repository in which only one kind of it is left: comments, string literals or code. The rest is blank,
/// so that the lines keep their numbers.
private struct SplitText {
    var comments: [UInt8]
    var strings: [UInt8]
    var code: [UInt8]

    /// Splits Swift source. Interpolations count as parts of their string literal.
    init(_ text: String) {
        enum State { case code, comment, block, string, longString }
        let bytes = Array(text.utf8)
        let blank = bytes.map { $0 == UInt8(ascii: "\n") ? $0 : UInt8(ascii: " ") }
        (comments, strings, code) = (blank, blank, blank)
        let (quote, slash, star, back) = (UInt8(ascii: "\""), UInt8(ascii: "/"), UInt8(ascii: "*"), UInt8(ascii: "\\"))
        var state = State.code
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            let next = index + 1 < bytes.count ? bytes[index + 1] : 0
            let isTriple = byte == quote && next == quote && index + 2 < bytes.count && bytes[index + 2] == quote
            switch state {
            case .code:
                if byte == slash, next == slash {
                    comments[index] = byte
                    state = .comment
                } else if byte == slash, next == star {
                    state = .block
                } else if isTriple {
                    (state, index) = (.longString, index + 2)
                } else if byte == quote {
                    strings[index] = byte
                    state = .string
                } else {
                    code[index] = byte
                }
            case .comment:
                comments[index] = byte
                if byte == UInt8(ascii: "\n") { state = .code }
            case .block:
                comments[index] = byte
                if byte == star, next == slash { (state, index) = (.code, index + 1) }
            case .string:
                strings[index] = byte
                if byte == back { index += 1 } else if byte == quote || byte == UInt8(ascii: "\n") { state = .code }
            case .longString:
                strings[index] = byte
                if byte == back { index += 1 } else if isTriple { (state, index) = (.code, index + 2) }
            }
            index += 1
        }
    }
}

/// Patterns with their better words.
private struct WordList {
    private let entries: [(pattern: NSRegularExpression, better: String, parts: [[CChar]])]

    init(_ words: [Vocabulary.Word]) throws {
        entries = try words.map { word in
            let parts = word.parts.split(separator: ",", omittingEmptySubsequences: false).map { part in
                Array(String(part).utf8CString)
            }
            return (try NSRegularExpression(pattern: word.pattern), word.better, parts)
        }
    }

    /// Returns each word of a text that the glossary replaces, with its line and the better word.
    func findings(in bytes: [UInt8]) -> [(line: Int, word: String, better: String)] {
        // A search of bytes is much faster than a regular expression, and few texts contain the parts of a word.
        let lower =
            bytes.map { CChar(bitPattern: $0 >= UInt8(ascii: "A") && $0 <= UInt8(ascii: "Z") ? $0 | 0x20 : $0) } + [0]
        let possible = entries.filter { entry in entry.parts.contains { strstr(lower, $0) != nil } }
        guard !possible.isEmpty else { return [] }
        let text = String(decoding: bytes, as: UTF8.self)
        let whole = text as NSString
        return possible.flatMap { entry in
            entry.pattern.matches(in: text, range: NSRange(location: 0, length: whole.length)).map { match in
                let line = whole.substring(to: match.range.location).utf8.count { $0 == UInt8(ascii: "\n") } + 1
                return (line, whole.substring(with: match.range), entry.better)
            }
        }
    }
}

@Suite("The vocabulary")
struct VocabularyTests {
    /// The files that list the words themselves.
    private static let exempt: Set<String> = ["docs/GLOSSARY.md", "CHANGELOG.md"]

    /// Swift sources, and the other texts: documents and pages.
    private static func texts() throws -> (swift: [(path: String, text: String)], other: [(path: String, text: String)])
    {
        let swift = ["Sources", "Tests", "Examples"].flatMap { Sources.files(below: $0) }
            .filter { !$0.path.hasSuffix(".pb.swift") && !$0.path.hasSuffix("/VocabularyTests.swift") }
        let files = FileManager.default
        var paths = try files.contentsOfDirectory(atPath: Sources.root.path).filter { $0.hasSuffix(".md") }
        for (folder, kinds) in [("docs", [".md"]), ("Sources", [".html", ".js", ".json", ".css"])] {
            paths += try files.subpathsOfDirectory(atPath: Sources.root.appendingPathComponent(folder).path)
                .filter { name in kinds.contains { name.hasSuffix($0) } }.map { "\(folder)/\($0)" }
        }
        let other = try paths.filter { !exempt.contains($0) }.sorted().map { path in
            (path, try String(contentsOf: Sources.root.appendingPathComponent(path), encoding: .utf8))
        }
        return (swift, other)
    }

    private func expect(none findings: [(line: Int, word: String, better: String)], in path: String) {
        for (line, word, better) in findings {
            Issue.record("\(path):\(line) says “\(word)”: write \(better)")
        }
    }

    @Test("names, comments, messages and documents use the words of the glossary")
    func words() throws {
        let prose = try WordList(Vocabulary.prose)
        let code = try WordList(Vocabulary.names + Vocabulary.code)
        let both = try WordList(Vocabulary.prose + Vocabulary.names)
        let (swift, other) = try Self.texts()
        #expect(swift.count > 1_000 && other.count > 10)
        for (path, text) in swift {
            let parts = SplitText(text)
            expect(none: both.findings(in: parts.comments), in: path)
            expect(none: prose.findings(in: parts.strings), in: path)
            expect(none: code.findings(in: parts.code), in: path)
        }
        for (path, text) in other where path.hasSuffix(".md") {
            expect(none: both.findings(in: Array(text.utf8)), in: path)
        }
    }

    @Test("pages use the words of the glossary")
    func pages() throws {
        let pages = try WordList(Vocabulary.pages)
        for (path, text) in try Self.texts().other where path.hasPrefix("Sources/") {
            expect(none: pages.findings(in: Array(text.utf8)), in: path)
        }
    }

    @Test("comments and titles of tests cite nothing that is not in the repository")
    func identifiers() throws {
        let pattern = try WordList([(#"\b[A-Z]{2,4}[0-9]{1,2}\b"#, "the reason, with a public source", "")])
        let title = try WordList([(#"(?<=")[A-Z]{2,4}[0-9]{1,2}[a-z]?(?=[:,])"#, "a sentence that states a rule", "\"")]
        )
        for (path, text) in try Self.texts().swift {
            let found = pattern.findings(in: SplitText(text).comments) + title.findings(in: Array(text.utf8))
            expect(none: found.filter { !Vocabulary.identifiers.contains($0.word) }, in: path)
        }
    }

    @Test("comments begin with a verb or a noun")
    func beginnings() throws {
        let pattern = try WordList([
            (#"(?<=// )(What|Who|Of|That which)\b"#, "a verb phrase or a noun phrase", "what,who,of,that")
        ])
        for (path, text) in try Self.texts().swift {
            expect(none: pattern.findings(in: SplitText(text).comments), in: path)
        }
    }
}
