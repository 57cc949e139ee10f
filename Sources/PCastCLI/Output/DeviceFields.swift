import PCast
import PCastJSON

/// The JSON fields of source devices in events.
enum DeviceFields {
    static func fields(_ device: SourceDeviceInfo) -> KeyValuePairs<String, JSONValue> {
        [
            "id": .string(device.id), "name": .string(device.name), "media": .string(device.mediaType.rawValue),
            "type": .string(device.deviceType.rawValue), "facingMode": .string(device.facingMode.rawValue),
            "location": .string(device.location.rawValue),
        ]
    }

    /// Returns the fields of a selected device with the explanation of the selection.
    static func chosen(
        _ device: SourceDeviceInfo, explanation: String, unmet: [DeviceCapability: String]
    ) -> KeyValuePairs<String, JSONValue> {
        var reasons = JSONObject()
        for (capability, reason) in unmet.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            reasons[capability.rawValue] = .string(reason)
        }
        return [
            "id": .string(device.id), "name": .string(device.name), "media": .string(device.mediaType.rawValue),
            "type": .string(device.deviceType.rawValue), "explanation": .string(explanation),
            "unmet": .object(reasons),
        ]
    }

    static func capabilities(_ device: SourceDevice) -> KeyValuePairs<String, JSONValue> {
        let info = device.info
        return [
            "id": .string(info.id), "name": .string(info.name), "media": .string(info.mediaType.rawValue),
            "type": .string(info.deviceType.rawValue), "facingMode": .string(info.facingMode.rawValue),
            "location": .string(info.location.rawValue), "vendor": .text(device.identity.vendor),
            "product": .text(device.identity.product), "serial": .text(device.identity.serial),
            "capabilities": capabilities(device.capabilities),
        ]
    }

    /// Returns the fields of a measured speed of an encoder.
    static func speed(_ speed: VideoEncodingSpeed) -> JSONValue {
        .fields([
            "width": .count(speed.dimensions.width), "height": .count(speed.dimensions.height),
            "framesPerSecond": .measured(speed.framesPerSecond), "realTime": .boolean(speed.isRealTime),
        ])
    }

    private static func capabilities(_ capabilities: SourceDevice.Capabilities) -> JSONValue {
        switch capabilities {
        case .video(let video):
            .fields([
                "formats": .array(video.formats.map(format)),
                "controls": .array(video.controls.map(control)),
                "flashModes": .words(video.flashModes.map(\.rawValue)),
                "autoFocusModes": .words(video.autoFocusModes.map(\.rawValue)),
                "autoFocusTarget": .boolean(video.hasFocusTarget),
                "followsDeviceRotation": .boolean(video.canFollowDevice),
                "mountingRotation": .count(video.mountRotation * 90),
            ])
        case .audio(let audio):
            .fields([
                "sampleRates": .array(audio.sampleRates.map { .count($0) }),
                "minimumChannels": .count(audio.channels.lowerBound),
                "maximumChannels": .count(audio.channels.upperBound),
                "controls": .array(audio.controls.map(control)),
                "polarPatterns": .words(audio.polarPatterns.map(\.rawValue)),
                "echoCancellation": .boolean(audio.canCancelEcho),
            ])
        }
    }

    private static func format(_ format: CaptureFormat) -> JSONValue {
        var fields = JSONObject()
        fields["encoding"] = .string(format.encoding.name)
        switch format.sizes {
        case .discrete(let size):
            fields["width"] = .count(size.width)
            fields["height"] = .count(size.height)
        case .stepwise(let smallest, let largest, let step):
            fields["smallest"] = .string("\(smallest)")
            fields["largest"] = .string("\(largest)")
            fields["step"] = .string("\(step)")
        }
        switch format.rates {
        case .discrete(let rates):
            fields["frameRates"] = .array(rates.map { .measured($0.perSecond) })
        case .range(let slowest, let fastest, let isContinuous):
            fields["slowestFrameRate"] = .measured(slowest.perSecond)
            fields["fastestFrameRate"] = .measured(fastest.perSecond)
            fields["continuousFrameRates"] = .boolean(isContinuous)
        }
        return .object(fields)
    }

    private static func control(_ control: DeviceControl) -> JSONValue {
        var fields = JSONObject()
        fields["name"] = .string(control.name)
        switch control.kind {
        case .integer(let range, let step, let standard):
            fields["kind"] = .string("integer")
            fields["minimum"] = .count(range.lowerBound)
            fields["maximum"] = .count(range.upperBound)
            fields["step"] = .count(step)
            fields["default"] = .count(standard)
        case .boolean(let standard):
            fields["kind"] = .string("boolean")
            fields["default"] = .boolean(standard)
        case .menu(let words, let standard):
            fields["kind"] = .string("menu")
            fields["words"] = .words(words)
            fields["default"] = .count(standard)
        case .button: fields["kind"] = .string("button")
        case .other(let kind): fields["kind"] = .string(kind)
        }
        fields["readOnly"] = .boolean(control.isReadOnly)
        return .object(fields)
    }
}

extension JSONValue {
    fileprivate static func fields(_ fields: KeyValuePairs<String, JSONValue>) -> JSONValue {
        var object = JSONObject()
        for (name, value) in fields { object[name] = value }
        return .object(object)
    }

    /// Returns sorted words, so that their order is the same in each run.
    fileprivate static func words(_ words: [String]) -> JSONValue { .array(words.sorted().map(JSONValue.string)) }
}
