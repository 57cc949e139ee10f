import ArgumentParser

/// The media type of the devices to list.
enum DeviceMediaArgument: String, ExpressibleByArgument, CaseIterable {
    case video, audio
}
