import PCast
import PCastPlayback

/// The report of a run's end, and its exit status.
struct RunOutcome: Equatable {
    /// The role of the run in its stream.
    enum Role { case publisher, viewer }

    let reason: String
    let description: String
    let status: ExitStatus
    let sentence: String

    init(_ cause: RunEnd.Cause, as role: Role) {
        switch cause {
        case .interrupted: self = Self.asRequested("interrupted", "Stopped by the user.")
        case .elapsed:
            self = Self.asRequested("the requested duration has passed", "Stopped after the requested duration.")
        case .played: self = Self.asRequested("the playlist has ended", "The playlist ended.")
        case .unplayable(let error):
            self.init(
                reason: "failed", description: "\(error)", status: .of(error),
                sentence: "No item of the playlist can be played: \(error).")
        case .session(let status):
            self.init(
                reason: "failed", description: "the platform rejected the session", status: .of(status),
                sentence: "The platform rejected the session: get a new token.")
        case .stream(let info): self.init(info, as: role)
        }
    }

    private init(reason: String, description: String, status: ExitStatus, sentence: String) {
        self.reason = reason
        self.description = description
        self.status = status
        self.sentence = sentence
    }

    private init(_ info: StreamEndedInfo, as role: Role) {
        let why = "\(info.reason.rawValue)\(Self.addition(info))"
        let (status, sentence): (ExitStatus, String) =
            switch info.ender {
            case .stop: (.ended, "Stopped.")
            case .source:
                info.reason == .ended
                    ? (.ended, "The source ended.") : (.deviceFailure, "The source failed: \(why).")
            case .connection: (.failed, "The media connection failed (\(why)): retry.")
            case .platform where role == .viewer && Self.isByPublisher(info.reason):
                (.ended, "The publisher ended the stream.")
            case .platform: (.endedByPlatform, "The platform ended the stream: \(why).")
            }
        self.init(
            reason: info.reason.rawValue, description: info.reasonDescription, status: status, sentence: sentence)
    }

    private static func asRequested(_ description: String, _ sentence: String) -> RunOutcome {
        RunOutcome(reason: "ended", description: description, status: .ended, sentence: sentence)
    }

    private static func addition(_ info: StreamEndedInfo) -> String {
        let text = info.reasonDescription
        return text.isEmpty || text == info.reason.rawValue ? "" : " (\(text))"
    }

    /// Returns whether a publisher ends a stream with this reason. Other reasons are those of the platform.
    private static func isByPublisher(_ reason: StreamEndedReason) -> Bool {
        switch reason {
        case .ended, .pcastStop, .appBackground: true
        default: false
        }
    }
}

extension ExitStatus {
    /// Returns the exit status for the status of a request.
    static func of(_ status: RequestStatus) -> ExitStatus {
        switch status {
        case .ok: .ended
        case .unauthorized: .notAuthorized
        case .noStreamPlaying, .gone: .nothingToPlay
        case .badRequest: .unusableArguments
        default: .failed
        }
    }

    /// Returns the exit status for a playback error. For a platform's stream, it is the same as that of `pcast
    /// subscribe`.
    static func of(_ error: PlaybackError) -> ExitStatus {
        switch error {
        case .noStream(_, let status?, _): .of(status)
        case .noStream: .platformUnreachable
        default: .nothingToPlay
        }
    }
}

extension CommandFailure {
    /// Converts an error of the SDK.
    init(_ error: PCastError) {
        let status: ExitStatus =
            switch error.cause {
            case .connection: .platformUnreachable
            case .device: .deviceFailure
            case .platform, .media, .usage: .of(error.status)
            }
        self.init(status, describing: error)
    }
}
