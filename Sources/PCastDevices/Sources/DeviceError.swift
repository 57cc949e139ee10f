/// Why a source could not be opened or started; each text says what to do about it.
public enum DeviceError: Error, Hashable, Sendable {
    /// What was asked for, such as `camera:ID`, is not on this machine.
    ///
    /// - Parameter lookedIn: where it was looked for, such as `/dev/video*`.
    case notFound(String, lookedIn: String)

    /// Another program has it (Phenix: `PhenixRequestStatusConflict`).
    case busy(String)

    /// It is there and may not be opened.
    ///
    /// - Parameter group: whose members may.
    case forbidden(String, group: String?)

    /// The text names no source at all.
    case unusable(String, reason: String)

    /// The text is no constraint; the reason lists the words that are.
    case noConstraint(String, reason: String)

    /// A hard constraint that no device can meet.
    case unmet(ConstraintFailure)

    /// A device that is there and did not do what it said; the reason is for people.
    case faulty(String, reason: String)

    /// A file or an address that could not be opened or read.
    case unreadable(String, reason: String)

    /// The file or address holds no track of the medium that was asked for.
    case noTrack(String, mediaType: String)

    /// The rules about devices cannot be read; the reason names the file and the line.
    case misconfigured(reason: String)

    /// No thread could be had.
    case noThread(String)
}

extension DeviceError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notFound(let what, let place):
            "no \(what) was found in \(place): `pcast devices` lists what there is, and `synthetic` is always there."
        case .busy(let what):
            "\(what) is in use by another program: close that, or choose another device."
        case .forbidden(let what, let group?):
            "\(what) may not be opened: join its group with `sudo usermod -aG \(group) $USER`, and log in again."
        case .forbidden(let what, nil):
            "\(what) may not be opened: run as its owner, or change its permissions."
        case .unusable(let text, let reason):
            "“\(text)” is no source (\(reason)): name a camera, microphone, screen, synthetic, null, a file or a URI."
        case .noConstraint(let text, let reason):
            "“\(text)” is no constraint: \(reason)."
        case .unmet(let failure):
            "\(failure)"
        case .faulty(let what, let reason):
            "\(what) does not work: \(reason)"
        case .unreadable(let uri, let reason):
            "\(uri) cannot be played: \(reason)"
        case .noTrack(let uri, let mediaType):
            "\(uri) holds no \(mediaType): leave the option away, or name another source."
        case .misconfigured(let reason):
            reason
        case .noThread(let reason):
            "no thread for the source: \(reason)"
        }
    }
}
