/// The reason why a source cannot be opened or started. Its description says what to do.
public enum DeviceError: Error, Hashable, Sendable {
    /// The requested device, such as `camera:ID`, does not exist. `lookedIn` is where it was searched, such as
    /// `/dev/video*`.
    case notFound(String, lookedIn: String)

    /// Another program uses the device (Phenix: `PhenixRequestStatusConflict`).
    case busy(String)

    /// The device exists but may not be opened. Contains the group whose members may; nil if there is none.
    case forbidden(String, group: String?)

    /// The text does not specify a source.
    case unusable(String, reason: String)

    /// The text is not a valid constraint. The reason lists the accepted words.
    case noConstraint(String, reason: String)

    /// No device satisfies a required constraint.
    case unmet(ConstraintFailure)

    /// The device failed, for this reason.
    case faulty(String, reason: String)

    /// A file or an address cannot be opened or read.
    case unreadable(String, reason: String)

    /// A file or an address has no track of this media type.
    case noTrack(String, mediaType: String)

    /// The device rules cannot be read. The reason contains the file and the line.
    case misconfigured(reason: String)

    /// No thread could be created.
    case noThread(String)
}

extension DeviceError: CustomStringConvertible {
    /// The error and what to do about it.
    public var description: String {
        switch self {
        case .notFound(let what, let location):
            "no \(what) was found in \(location): `pcast devices` lists the devices, and `synthetic` is always available."
        case .busy(let what):
            "\(what) is in use by another program: close that program, or choose another device."
        case .forbidden(let what, let group?):
            "permission denied for \(what): join its group with `sudo usermod -aG \(group) $USER`, and log in again."
        case .forbidden(let what, nil):
            "permission denied for \(what): run as its owner, or change its permissions."
        case .unusable(let text, let reason):
            "“\(text)” is not a source (\(reason)): use camera, microphone, screen, synthetic, null, a file or a URI."
        case .noConstraint(let text, let reason):
            "“\(text)” is not a valid constraint: \(reason)."
        case .unmet(let failure):
            "\(failure)"
        case .faulty(let what, let reason):
            "\(what) does not work: \(reason)"
        case .unreadable(let uri, let reason):
            "\(uri) cannot be played: \(reason)"
        case .noTrack(let uri, let mediaType):
            "\(uri) contains no \(mediaType): remove the option, or use another source."
        case .misconfigured(let reason):
            reason
        case .noThread(let reason):
            "the source's thread could not be started: \(reason)"
        }
    }
}
