<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="ar" sourcelanguage="en">
<context>
    <name>CurvesPanel</name>
    <message>
        <source>step</source>
        <translation>الخطوة</translation>
    </message>
    <message>
        <source>time since the run began</source>
        <translation>الزمن منذ بدء التشغيل</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>عرض</translation>
    </message>
    <message>
        <source>all curves</source>
        <translation>كل المنحنيات</translation>
    </message>
    <message>
        <source>against</source>
        <translation>مقابل</translation>
    </message>
    <message>
        <source>steps</source>
        <translation>الخطوات</translation>
    </message>
    <message>
        <source>time</source>
        <translation>الزمن</translation>
    </message>
    <message>
        <source>fp32 band</source>
        <translation>نطاق fp32</translation>
    </message>
    <message>
        <source>mean of the fp32 seeds ± one standard deviation between them [%1]</source>
        <translation>متوسط بذور fp32 ± انحراف معياري واحد بينها [⁨%1⁩]</translation>
    </message>
    <message>
        <source>Smoothing</source>
        <translation>التمليس</translation>
    </message>
    <message>
        <source>off</source>
        <translation>متوقف</translation>
    </message>
    <message>
        <source> points</source>
        <translation> نقطة</translation>
    </message>
    <message>
        <source>Mean over neighbouring points. Only for the eye: no number anywhere else is smoothed.</source>
        <translation>متوسط النقاط المتجاورة. للعين فقط: لا يُملَّس أي عدد في أي موضع آخر.</translation>
    </message>
    <message>
        <source>, smoothed for the eye</source>
        <translation>، مملَّس للعين</translation>
    </message>
    <message>
        <source>%1: skipped</source>
        <translation>⁨%1⁩: متخطّاة</translation>
    </message>
    <message>
        <source>%1: step %2 was skipped</source>
        <translation>⁨%1⁩: تُخطّيت الخطوة ⁨%2⁩</translation>
    </message>
    <message>
        <source>fp32 ± 1 standard deviation</source>
        <translation>fp32 ± انحراف معياري واحد</translation>
    </message>
    <message>
        <source>%1: nodes counted, time left out</source>
        <translation>⁨%1⁩: عُدّت العقد، وتُرك الزمن</translation>
    </message>
    <message>
        <source>%1: step %2 is left out (%3): its nodes were counted one after the other by the GPU&apos;s hardware counters</source>
        <translation>⁨%1⁩: تُركت الخطوة ⁨%2⁩ (⁨%3⁩): قيست عقدها واحدة تلو الأخرى بعدّادات المعالج الرسومي</translation>
    </message>
</context>
<context>
    <name>Follower</name>
    <message>
        <source>%1 is not there any more; what was read of it stays on show</source>
        <translation>لم يعد ⁨%1⁩ موجودًا؛ ويبقى ما قُرئ منه معروضًا</translation>
    </message>
</context>
<context>
    <name>GenerationsPanel</name>
    <message>
        <source>Step time by mode and machine</source>
        <translation>زمن الخطوة بحسب النمط والآلة</translation>
    </message>
    <message>
        <source>Machines side by side</source>
        <translation>الآلات جنبًا إلى جنب</translation>
    </message>
    <message>
        <source>What cannot be compared, and why</source>
        <translation>ما لا تمكن مقارنته، ولماذا</translation>
    </message>
    <message>
        <source>Open the run file of another machine beside this one: machines are compared with the current file&apos;s.</source>
        <translation>افتح ملف تشغيل من آلة أخرى إلى جانب هذا الملف: تُقارَن الآلات بآلة الملف الحالي.</translation>
    </message>
    <message>
        <source>Ratios are to the first machine. Outlines: emulated or projected, which says nothing about hardware.</source>
        <translation>النسب إلى الآلة الأولى. الأشكال المفرَّغة: محاكاة أو متوقَّعة، ولا تقول شيئًا عن العتاد.</translation>
    </message>
    <message>
        <source>All files that are open were recorded on the same device: there are no machines to compare.</source>
        <translation>سُجّلت كل الملفات المفتوحة على الجهاز نفسه: لا توجد آلات للمقارنة.</translation>
    </message>
    <message>
        <source>%1, %2: a step takes %3 [%4]</source>
        <translation>⁨%1⁩، ⁨%2⁩: تستغرق الخطوة ⁨%3⁩ [⁨%4⁩]</translation>
    </message>
    <message>
        <source>mode</source>
        <translation>النمط</translation>
    </message>
    <message>
        <source>Step time</source>
        <translation>زمن الخطوة</translation>
    </message>
</context>
<context>
    <name>LossScalePanel</name>
    <message>
        <source>Loss scale</source>
        <translation>مقياس الخسارة (loss scale)</translation>
    </message>
    <message>
        <source>step</source>
        <translation>الخطوة</translation>
    </message>
    <message>
        <source>Runs that scale their loss</source>
        <translation>التشغيلات التي تحجّم خسارتها</translation>
    </message>
    <message>
        <source>No run that is shown scales its loss.</source>
        <translation>لا يحجّم أي تشغيل معروض خسارته.</translation>
    </message>
    <message>
        <source>No window of scales is known: no scaled gradient of a narrow range was observed, or no scale suits.</source>
        <translation>لا تُعرف نافذة للمقاييس: لم يُرصد تدرّج محجَّم ضيق المدى، أو لا يناسب أي مقياس.</translation>
    </message>
    <message>
        <source>Shaded: the window of scales at which no gradient overflows and at most 1 % of a layer&apos;s is lost to zero, in the observed steps.</source>
        <translation>المظلَّل: نافذة المقاييس التي لا يطفح عندها أي تدرّج ولا يضيع إلى الصفر أكثر من 1 % من تدرّجات أي طبقة، في الخطوات المرصودة.</translation>
    </message>
    <message>
        <source>A click on a mark leads to its overflow.</source>
        <translation>النقر على علامة يقود إلى طفحها.</translation>
    </message>
    <message>
        <source>%1: overflow in step %2
loss scale %3 [%4]</source>
        <translation>⁨%1⁩: طفح في الخطوة ⁨%2⁩
مقياس الخسارة ⁨%3⁩ [⁨%4⁩]</translation>
    </message>
    <message>
        <source>, afterwards %1</source>
        <translation>، وبعدها ⁨%1⁩</translation>
    </message>
    <message>
        <source>The step was skipped.</source>
        <translation>تُخطّيت الخطوة.</translation>
    </message>
    <message>
        <source>The step was applied all the same.</source>
        <translation>طُبّقت الخطوة مع ذلك.</translation>
    </message>
    <message>
        <source>%1: window</source>
        <translation>⁨%1⁩: النافذة</translation>
    </message>
</context>
<context>
    <name>MemoryPanel</name>
    <message>
        <source>Memory at the peak by category</source>
        <translation>الذاكرة عند الذروة بحسب الفئة</translation>
    </message>
    <message>
        <source>Memory over one step</source>
        <translation>الذاكرة خلال خطوة واحدة</translation>
    </message>
    <message>
        <source>Why it did not halve</source>
        <translation>لماذا لم تُنصَّف</translation>
    </message>
    <message>
        <source>%1 does not halve the memory of fp32:</source>
        <translation>لا يُنصّف ⁨%1⁩ ذاكرة fp32:</translation>
    </message>
    <message>
        <source>%1, %2: %3 [%4]</source>
        <translation>⁨%1⁩، ⁨%2⁩: ⁨%3⁩ [⁨%4⁩]</translation>
    </message>
    <message>
        <source>planned</source>
        <translation>مخطَّط</translation>
    </message>
    <message>
        <source>%1, as planned: %2 [%3]</source>
        <translation>⁨%1⁩، كما خُطّط: ⁨%2⁩ [⁨%3⁩]</translation>
    </message>
    <message>
        <source>mode</source>
        <translation>النمط</translation>
    </message>
    <message>
        <source>bytes at the peak</source>
        <translation>البايتات عند الذروة</translation>
    </message>
    <message>
        <source>node of the step, in execution order</source>
        <translation>عقدة الخطوة، بترتيب التنفيذ</translation>
    </message>
    <message>
        <source>bytes of results still to be read</source>
        <translation>بايتات النتائج التي ستُقرأ بعد</translation>
    </message>
    <message>
        <source>bytes in use</source>
        <translation>البايتات المستعملة</translation>
    </message>
</context>
<context>
    <name>NodesPanel</name>
    <message>
        <source>Nodes of the plan</source>
        <translation>عقد المخطط</translation>
    </message>
    <message>
        <source>Mode whose plan is shown</source>
        <translation>النمط الذي يُعرض مخططه</translation>
    </message>
    <message>
        <source>Plan of</source>
        <translation>مخطط</translation>
    </message>
    <message>
        <source>no plan is on record</source>
        <translation>لا يوجد مخطط مسجَّل</translation>
    </message>
    <message>
        <source>nodes: %1 of %2</source>
        <translation>العقد: ⁨%1⁩ من ⁨%2⁩</translation>
    </message>
</context>
<context>
    <name>Notices</name>
    <message>
        <source>seed %1</source>
        <translation>البذرة ⁨%1⁩</translation>
    </message>
    <message>
        <source>%1 is a non-standard run: %2</source>
        <translation>⁨%1⁩ تشغيل غير قياسي: ⁨%2⁩</translation>
    </message>
    <message>
        <source>%1 was cut off: nobody writes its recording any more</source>
        <translation>انقطع ⁨%1⁩: لم يعد أحد يكتب تسجيله</translation>
    </message>
    <message>
        <source>%1 failed: %2</source>
        <translation>فشل ⁨%1⁩: ⁨%2⁩</translation>
    </message>
    <message>
        <source>Times of %1 are emulated: the formats are carried out in software, and the times say nothing of a GPU</source>
        <translation>أزمنة ⁨%1⁩ محاكاة: تُنفَّذ الصيغ برمجيًا، ولا تقول الأزمنة شيئًا عن معالج رسومي (GPU)</translation>
    </message>
    <message>
        <source>The GPU&apos;s clock was held down in %1 % of the samples (%2): %3</source>
        <translation>خُفّض تردد المعالج الرسومي في ⁨%1⁩ % من العينات (⁨%2⁩): ⁨%3⁩</translation>
    </message>
</context>
<context>
    <name>NumericsPanel</name>
    <message>
        <source>Layers and steps</source>
        <translation>الطبقات والخطوات</translation>
    </message>
    <message>
        <source>Mode</source>
        <translation>النمط</translation>
    </message>
    <message>
        <source>Show</source>
        <translation>عرض</translation>
    </message>
    <message>
        <source>What the map shows</source>
        <translation>ما تعرضه الخريطة</translation>
    </message>
    <message>
        <source>Tensor</source>
        <translation>الموتّر</translation>
    </message>
    <message>
        <source>Tensor whose histogram is shown</source>
        <translation>الموتّر الذي يُعرض مدرّجه التكراري</translation>
    </message>
    <message>
        <source>Histogram over exponents</source>
        <translation>مدرّج تكراري على الأسس</translation>
    </message>
    <message>
        <source>step</source>
        <translation>الخطوة</translation>
    </message>
    <message>
        <source>No step was observed: ulpscope run records statistics with observe.</source>
        <translation>لم تُرصد أي خطوة: يسجّل ulpscope run الإحصاءات مع observe.</translation>
    </message>
    <message>
        <source>%1 is unknown: nothing of the kind was counted</source>
        <translation>⁨%1⁩: غير معروف، لم يُعدّ شيء من هذا النوع</translation>
    </message>
    <message>
        <source>. Red: in trouble; ×: not finite; empty: unknown. Observed steps: %1</source>
        <translation>. الأحمر: في خطر؛ ×: غير منتهٍ؛ الفارغ: غير معروف. الخطوات المرصودة: ⁨%1⁩</translation>
    </message>
    <message>
        <source>, read: %1</source>
        <translation>، المقروء: ⁨%1⁩</translation>
    </message>
    <message>
        <source>; layers left out, farthest from trouble: %1</source>
        <translation>؛ الطبقات المتروكة، وهي الأبعد عن الخطر: ⁨%1⁩</translation>
    </message>
    <message>
        <source>nearest to the edges of their formats</source>
        <translation>الأقرب إلى حدود صيغها</translation>
    </message>
    <message>
        <source>%1, step %2</source>
        <translation>⁨%1⁩، الخطوة ⁨%2⁩</translation>
    </message>
    <message>
        <source>binary exponent: values from 2^e to 2^(e + 1)</source>
        <translation>الأس الثنائي e: القيم من 2^e إلى 2^(e + 1)</translation>
    </message>
    <message>
        <source>elements</source>
        <translation>العناصر</translation>
    </message>
    <message>
        <source>No histogram is on record.</source>
        <translation>لا يوجد مدرّج تكراري مسجَّل.</translation>
    </message>
    <message>
        <source>from 2^%1 to 2^%2: %3 elements [%4]</source>
        <translation>من 2^⁨%1⁩ إلى 2^⁨%2⁩: ⁨%3⁩ من العناصر [⁨%4⁩]</translation>
    </message>
</context>
<context>
    <name>OverflowsPanel</name>
    <message>
        <source>Overflows</source>
        <translation>حالات الطفح</translation>
    </message>
    <message>
        <source>Kind</source>
        <translation>النوع</translation>
    </message>
    <message>
        <source>Mode</source>
        <translation>النمط</translation>
    </message>
    <message>
        <source>Layer</source>
        <translation>الطبقة</translation>
    </message>
    <message>
        <source>Diagnosis</source>
        <translation>التشخيص</translation>
    </message>
    <message>
        <source>What the operation reads and makes</source>
        <translation>ما تقرؤه العملية وما تُنتجه</translation>
    </message>
    <message>
        <source>all</source>
        <translation>الكل</translation>
    </message>
    <message>
        <source>reading …</source>
        <translation>القراءة جارية…</translation>
    </message>
    <message>
        <source>no run is on record</source>
        <translation>لا يوجد تشغيل مسجَّل</translation>
    </message>
    <message>
        <source>The gradients of every recorded step were finite.</source>
        <translation>كانت تدرّجات كل خطوة مسجَّلة منتهية.</translation>
    </message>
    <message>
        <source>overflows: %1 of %2</source>
        <translation>حالات الطفح: ⁨%1⁩ من ⁨%2⁩</translation>
    </message>
    <message>
        <source> (of a run the first %1 are listed)</source>
        <translation> (تُسرد من كل تشغيل أول ⁨%1⁩)</translation>
    </message>
    <message>
        <source>The operation is unknown.</source>
        <translation>العملية غير معروفة.</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <translation>⁨%1⁩: ⁨%2⁩</translation>
    </message>
    <message>
        <source>, computed in %1</source>
        <translation>، محسوبة في ⁨%1⁩</translation>
    </message>
</context>
<context>
    <name>OverviewPanel</name>
    <message>
        <source>Modes side by side</source>
        <translation>الأنماط جنبًا إلى جنب</translation>
    </message>
    <message>
        <source>No file is open.</source>
        <translation>لا يوجد ملف مفتوح.</translation>
    </message>
    <message>
        <source>Reading…</source>
        <translation>القراءة جارية…</translation>
    </message>
    <message>
        <source>Recorded by %1</source>
        <translation>سجّله ⁨%1⁩</translation>
    </message>
    <message>
        <source>There is no run in this file yet.</source>
        <translation>لا يوجد تشغيل في هذا الملف بعد.</translation>
    </message>
    <message>
        <source>%1: %2</source>
        <comment>verdict: reason</comment>
        <translation>⁨%1⁩: ⁨%2⁩</translation>
    </message>
</context>
<context>
    <name>QAbstractSpinBox</name>
    <message>
        <source>&amp;Step up</source>
        <translation>خطوة لأ&amp;على</translation>
    </message>
    <message>
        <source>Step &amp;down</source>
        <translation>خطوة لأ&amp;سفل</translation>
    </message>
    <message>
        <source>&amp;Select All</source>
        <translation>&amp;حدّد الكلّ</translation>
    </message>
</context>
<context>
    <name>QDialogButtonBox</name>
    <message>
        <source>OK</source>
        <translation>حسنًا</translation>
    </message>
</context>
<context>
    <name>QDockWidget</name>
    <message>
        <source>Float</source>
        <translation>أعم</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>أغلق</translation>
    </message>
    <message>
        <source>Undocks and re-attaches the dock widget</source>
        <translation>يفكّ رصف ودجة الرّصف ويعيد إرفاقها</translation>
    </message>
    <message>
        <source>Closes the dock widget</source>
        <translation>يغلق ودجة الرّصف</translation>
    </message>
</context>
<context>
    <name>QFileDialog</name>
    <message>
        <source>Look in:</source>
        <translation>اعثر في:</translation>
    </message>
    <message>
        <source>File &amp;name:</source>
        <translation>ا&amp;سم الملفّ:</translation>
    </message>
    <message>
        <source>Files of type:</source>
        <translation>الملفّات من النّوع:</translation>
    </message>
    <message>
        <source>Directory:</source>
        <translation>الدّليل:</translation>
    </message>
    <message>
        <source>&amp;Open</source>
        <translation>ا&amp;فتح</translation>
    </message>
    <message>
        <source>&amp;Save</source>
        <translation>ا&amp;حفظ</translation>
    </message>
    <message>
        <source>&amp;Choose</source>
        <translation>ا&amp;ختر</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>افتح</translation>
    </message>
    <message>
        <source>Save As</source>
        <translation>احفظ كَ‍</translation>
    </message>
    <message>
        <source>Find Directory</source>
        <translation>اعثر على دليل</translation>
    </message>
    <message>
        <source>Back</source>
        <translation>ارجع</translation>
    </message>
    <message>
        <source>Forward</source>
        <translation>تقدّم</translation>
    </message>
    <message>
        <source>Parent Directory</source>
        <translation>الدّليل الأمّ</translation>
    </message>
    <message>
        <source>Create New Folder</source>
        <translation>أنشئ مجلّدًا جديدًا</translation>
    </message>
    <message>
        <source>List View</source>
        <translation>منظور قائميّ</translation>
    </message>
    <message>
        <source>Detail View</source>
        <translation>منظور تفصيليّ</translation>
    </message>
    <message>
        <source>Go back</source>
        <translation>اذهب للخلف</translation>
    </message>
    <message>
        <source>Go forward</source>
        <translation>اذهب للأمام</translation>
    </message>
    <message>
        <source>Go to the parent directory</source>
        <translation>اذهب إلى الدّليل الأمّ</translation>
    </message>
    <message>
        <source>Create a New Folder</source>
        <translation>أنشئ مجلّدًا جديدًا</translation>
    </message>
    <message>
        <source>Change to list view mode</source>
        <translation>غيّر إلى وضع المنظور القائميّ</translation>
    </message>
    <message>
        <source>Change to detail view mode</source>
        <translation>غيّر إلى وضع المنظور التّفصيليّ</translation>
    </message>
    <message>
        <source>Show &amp;hidden files</source>
        <translation>أظهر الملفّات الم&amp;خفيّة</translation>
    </message>
    <message>
        <source>&amp;New Folder</source>
        <translation>مجلّد &amp;جديد</translation>
    </message>
    <message>
        <source>New Folder</source>
        <translation>مجلّد جديد</translation>
    </message>
    <message>
        <source>&amp;Rename</source>
        <translation>أ&amp;عد التّسمية</translation>
    </message>
    <message>
        <source>&amp;Delete</source>
        <translation>ا&amp;حذف</translation>
    </message>
    <message>
        <source>Sidebar</source>
        <translation>الشّريط الجانبيّ</translation>
    </message>
    <message>
        <source>Recent Places</source>
        <translation>الأماكن الحديثة</translation>
    </message>
    <message>
        <source>All Files (*)</source>
        <translation>كلّ الملفّات (*)</translation>
    </message>
    <message>
        <source>%1 already exists.
Do you want to replace it?</source>
        <translation>⁨%1⁩ موجود بالفعل.
أتريد استبداله؟</translation>
    </message>
    <message>
        <source>%1
File not found.
Please verify the correct file name was given.</source>
        <translation>⁨%1⁩
لم يُعثر على الملفّ.
رجاءً تحقّق من إعطائك الاسم الصحيح للملفّ.</translation>
    </message>
    <message>
        <source>%1
Directory not found.
Please verify the correct directory name was given.</source>
        <translation>⁨%1⁩
لم يُعثر على الدّليل.
رجاءً تحقّق من إعطائك الاسم الصحيح للدّليل.</translation>
    </message>
</context>
<context>
    <name>QFileSystemModel</name>
    <message>
        <source>Name</source>
        <translation>الاسم</translation>
    </message>
    <message>
        <source>Size</source>
        <translation>الحجم</translation>
    </message>
    <message>
        <source>Type</source>
        <translation>النّوع</translation>
    </message>
    <message>
        <source>Date Modified</source>
        <translation>تاريخ التّعديل</translation>
    </message>
</context>
<context>
    <name>QLineEdit</name>
    <message>
        <source>&amp;Undo</source>
        <translation>&amp;تراجع</translation>
    </message>
    <message>
        <source>&amp;Redo</source>
        <translation>أ&amp;عد</translation>
    </message>
    <message>
        <source>Cu&amp;t</source>
        <translation>&amp;قصّ</translation>
    </message>
    <message>
        <source>&amp;Copy</source>
        <translation>ا&amp;نسخ</translation>
    </message>
    <message>
        <source>&amp;Paste</source>
        <translation>أل&amp;صق</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>احذف</translation>
    </message>
    <message>
        <source>Select All</source>
        <translation>حدّد الكلّ</translation>
    </message>
</context>
<context>
    <name>QPlatformTheme</name>
    <message>
        <source>OK</source>
        <translation>حسنًا</translation>
    </message>
    <message>
        <source>Cancel</source>
        <translation>ألغِ</translation>
    </message>
    <message>
        <source>Close</source>
        <translation>أغلق</translation>
    </message>
    <message>
        <source>Open</source>
        <translation>افتح</translation>
    </message>
    <message>
        <source>Save</source>
        <translation>احفظ</translation>
    </message>
    <message>
        <source>&amp;Yes</source>
        <translation>&amp;نعم</translation>
    </message>
    <message>
        <source>&amp;No</source>
        <translation>&amp;لا</translation>
    </message>
    <message>
        <source>Apply</source>
        <translation>طبّق</translation>
    </message>
    <message>
        <source>Reset</source>
        <translation>صفّر</translation>
    </message>
    <message>
        <source>Help</source>
        <translation>مساعدة</translation>
    </message>
    <message>
        <source>Discard</source>
        <translation>ارفض</translation>
    </message>
</context>
<context>
    <name>QTabBar</name>
    <message>
        <source>Scroll Left</source>
        <translation>مرّر لليسار</translation>
    </message>
    <message>
        <source>Scroll Right</source>
        <translation>مرّر لليمين</translation>
    </message>
</context>
<context>
    <name>QWidgetTextControl</name>
    <message>
        <source>&amp;Undo</source>
        <translation>&amp;تراجع</translation>
    </message>
    <message>
        <source>&amp;Redo</source>
        <translation>أ&amp;عد</translation>
    </message>
    <message>
        <source>Cu&amp;t</source>
        <translation>&amp;قصّ</translation>
    </message>
    <message>
        <source>&amp;Copy</source>
        <translation>ا&amp;نسخ</translation>
    </message>
    <message>
        <source>Copy &amp;Link Location</source>
        <translation>انسخ و&amp;صلة المكان</translation>
    </message>
    <message>
        <source>&amp;Paste</source>
        <translation>أل&amp;صق</translation>
    </message>
    <message>
        <source>Delete</source>
        <translation>احذف</translation>
    </message>
    <message>
        <source>Select All</source>
        <translation>حدّد الكلّ</translation>
    </message>
</context>
<context>
    <name>SavedPicture</name>
    <message>
        <source>%1: a chart is saved as .png, .svg, .pdf or .csv</source>
        <translation>⁨%1⁩: يُحفظ الرسم البياني بصيغة ‎.png أو ‎.svg أو ‎.pdf أو ‎.csv</translation>
    </message>
    <message>
        <source>%1: a chart is saved as .png, .pdf or .csv</source>
        <translation>⁨%1⁩: يُحفظ الرسم البياني بصيغة ‎.png أو ‎.pdf أو ‎.csv</translation>
    </message>
    <message>
        <source>%1 could not be written</source>
        <translation>تعذّرت كتابة ⁨%1⁩</translation>
    </message>
    <message>
        <source>Picture (*.png)</source>
        <translation>صورة (*.png)</translation>
    </message>
    <message>
        <source>Drawing (*.svg)</source>
        <translation>رسم متجهي (*.svg)</translation>
    </message>
    <message>
        <source>Document (*.pdf)</source>
        <translation>مستند (*.pdf)</translation>
    </message>
    <message>
        <source>Data (*.csv)</source>
        <translation>بيانات (*.csv)</translation>
    </message>
</context>
<context>
    <name>Timeline</name>
    <message>
        <source>step %1</source>
        <translation>الخطوة ⁨%1⁩</translation>
    </message>
    <message>
        <source>%1, skipped</source>
        <translation>⁨%1⁩، متخطّاة</translation>
    </message>
    <message>
        <source>node %1</source>
        <translation>العقدة ⁨%1⁩</translation>
    </message>
    <message>
        <source>%1, nodes counted</source>
        <translation>⁨%1⁩، عُدّت عقدها</translation>
    </message>
</context>
<context>
    <name>TimelinePanel</name>
    <message>
        <source>Timeline</source>
        <translation>الخط الزمني</translation>
    </message>
    <message>
        <source>Run whose timeline is shown</source>
        <translation>التشغيل الذي يُعرض خطه الزمني</translation>
    </message>
    <message>
        <source>What is shown of it</source>
        <translation>ما يُعرض منه</translation>
    </message>
    <message>
        <source>as recorded</source>
        <translation>كما سُجّل</translation>
    </message>
    <message>
        <source>mean step</source>
        <translation>الخطوة المتوسطة</translation>
    </message>
    <message>
        <source>search kernels, nodes, steps</source>
        <translation>بحث في الأنوية والعقد والخطوات</translation>
    </message>
    <message>
        <source>Part of the names of kernels, nodes and steps to find</source>
        <translation>جزء من أسماء الأنوية والعقد والخطوات المراد إيجادها</translation>
    </message>
    <message>
        <source>Part of the names of kernels, nodes and steps to find (Ctrl+F in the timeline); Return: the next one</source>
        <translation>جزء من أسماء الأنوية والعقد والخطوات المراد إيجادها (Ctrl+F في الخط الزمني)؛ الإدخال: التالي</translation>
    </message>
    <message>
        <source>The one before that is found (Shift+Return)</source>
        <translation>السابق مما عُثر عليه (Shift+Return)</translation>
    </message>
    <message>
        <source>The next one that is found (Return)</source>
        <translation>التالي مما عُثر عليه (Return)</translation>
    </message>
    <message>
        <source>Sums by name</source>
        <translation>المجاميع بحسب الاسم</translation>
    </message>
    <message>
        <source>A double click, or Return, leads to the longest of a name</source>
        <translation>النقر المزدوج أو الإدخال يقود إلى أطول مقطع بهذا الاسم</translation>
    </message>
    <message>
        <source>The chosen span</source>
        <translation>المقطع المختار</translation>
    </message>
    <message>
        <source>Choose a span to see all that is on record of it.</source>
        <translation>اختر مقطعًا لترى كل ما هو مسجَّل عنه.</translation>
    </message>
    <message>
        <source>reading …</source>
        <translation>القراءة جارية…</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <translation>⁨%1⁩ من ⁨%2⁩</translation>
    </message>
    <message>
        <source>found: %1</source>
        <translation>عُثر على: ⁨%1⁩</translation>
    </message>
    <message>
        <source>That is what is in view; Shift and the mouse take a range.</source>
        <translation>هذا ما هو معروض؛ وتحدّد Shift مع الفأرة مدى.</translation>
    </message>
    <message>
        <source>The %1 names of the most time, of %2.</source>
        <translation>الأسماء الـ ⁨%1⁩ الأكثر زمنًا، من ⁨%2⁩.</translation>
    </message>
</context>
<context>
    <name>TimelineTexts</name>
    <message>
        <source>steps</source>
        <translation>الخطوات</translation>
    </message>
    <message>
        <source>passes, laid out</source>
        <translation>المرورات، بالترتيب</translation>
    </message>
    <message>
        <source>passes</source>
        <translation>المرورات</translation>
    </message>
    <message>
        <source>nodes, laid out</source>
        <translation>العقد، بالترتيب</translation>
    </message>
    <message>
        <source>nodes</source>
        <translation>العقد</translation>
    </message>
    <message>
        <source>kernels, stream %1</source>
        <translation>الأنوية، المجرى ⁨%1⁩</translation>
    </message>
    <message>
        <source>How long each took is [%1]; they are laid out one after the other in the order of the plan: when each began is not on record.</source>
        <translation>مدة كل منها [⁨%1⁩]؛ وقد وُضعت واحدة بعد أخرى بترتيب المخطط: وقت بدء كل منها غير مسجَّل.</translation>
    </message>
    <message>
        <source>Wall time of each step [%1]. Steps follow one another; one whose kernels were traced begins where the first of them did, or at the end of the step before.</source>
        <translation>الزمن الفعلي لكل خطوة [⁨%1⁩]. تتوالى الخطوات؛ والخطوة التي تُتبّعت أنويتها تبدأ حيث بدأت أولاها، أو عند نهاية الخطوة السابقة.</translation>
    </message>
    <message>
        <source>From the first kernel of a pass to the end of its last [%1].</source>
        <translation>من أول نواة في المرور إلى نهاية آخرها [⁨%1⁩].</translation>
    </message>
    <message>
        <source>From the first kernel of a node to the end of its last, or to where the next node begins [%1].</source>
        <translation>من أول نواة في العقدة إلى نهاية آخرها، أو إلى حيث تبدأ العقدة التالية [⁨%1⁩].</translation>
    </message>
    <message>
        <source>Kernels as the GPU ran them [%1].</source>
        <translation>الأنوية كما شغّلها المعالج الرسومي [⁨%1⁩].</translation>
    </message>
    <message>
        <source>kernel trace refused: %1</source>
        <translation>رُفض تتبّع الأنوية: ⁨%1⁩</translation>
    </message>
    <message>
        <source>The mean of %1 sampled steps. Nodes are laid out one after the other in the order of the plan: how long each took is on record, when it began is not.</source>
        <translation>متوسط ⁨%1⁩ من الخطوات المعيَّنة. وُضعت العقد واحدة بعد أخرى بترتيب المخطط: المسجَّل هو مدة كل منها لا وقت بدئها.</translation>
    </message>
    <message>
        <source>No node of this run was timed.</source>
        <translation>لم يُقَس زمن أي عقدة في هذا التشغيل.</translation>
    </message>
    <message>
        <source>times of nodes left out, because they are no finite number: %1</source>
        <translation>أزمنة عقد متروكة لأنها ليست أعدادًا منتهية: ⁨%1⁩</translation>
    </message>
    <message>
        <source>steps without a time, drawn as 1 ms each: %1</source>
        <translation>خطوات بلا زمن، تُرسم كل منها على أنها 1 ms: ⁨%1⁩</translation>
    </message>
    <message>
        <source>Nodes were summed up over sampled steps: the mean step shows them.</source>
        <translation>جُمعت العقد على الخطوات المعيَّنة: تعرضها الخطوة المتوسطة.</translation>
    </message>
    <message>
        <source>Only the first %1 kernels of this run are shown.</source>
        <translation>تُعرض أول ⁨%1⁩ من أنوية هذا التشغيل فقط.</translation>
    </message>
    <message>
        <source>No kernels: this run was on a CPU, which has none. A run on a GPU traces them: ulpscope run EXPERIMENT.toml --set run.device=cuda</source>
        <translation>لا أنوية: كان هذا التشغيل على معالج مركزي (CPU) وليس فيه أنوية. والتشغيل على معالج رسومي يتتبّعها: ulpscope run EXPERIMENT.toml --set run.device=cuda</translation>
    </message>
    <message>
        <source>No kernels: the file that was imported holds none. Those of a profiler&apos;s trace come with ulpscope import TRACE</source>
        <translation>لا أنوية: لا يحوي الملف المستورد أيًّا منها. وتأتي أنوية تتبّع المحلّل عبر ulpscope import TRACE</translation>
    </message>
    <message>
        <source>No kernels were recorded in this run.</source>
        <translation>لم تُسجَّل أي أنوية في هذا التشغيل.</translation>
    </message>
    <message>
        <source>row</source>
        <translation>الصف</translation>
    </message>
    <message>
        <source>time unknown; drawn as 1 ms</source>
        <translation>الزمن غير معروف؛ يُرسم على أنه 1 ms</translation>
    </message>
    <message>
        <source>time</source>
        <translation>الزمن</translation>
    </message>
    <message>
        <source>laid out at</source>
        <translation>موضوع عند</translation>
    </message>
    <message>
        <source>began</source>
        <translation>بدأ</translation>
    </message>
    <message>
        <source>%1 after the start of the run</source>
        <translation>بعد ⁨%1⁩ من بدء التشغيل</translation>
    </message>
    <message>
        <source>drawn at</source>
        <translation>مرسوم عند</translation>
    </message>
    <message>
        <source>begins</source>
        <translation>يبدأ</translation>
    </message>
    <message>
        <source>drawn %1 later: the step before was not over</source>
        <translation>رُسم بعده بـ ⁨%1⁩: لم تكن الخطوة السابقة قد انتهت</translation>
    </message>
    <message>
        <source>node</source>
        <translation>العقدة</translation>
    </message>
    <message>
        <source>operation</source>
        <translation>العملية</translation>
    </message>
    <message>
        <source>computed in</source>
        <translation>محسوب في</translation>
    </message>
    <message>
        <source>pass</source>
        <translation>المرور</translation>
    </message>
    <message>
        <source>kind</source>
        <translation>النوع</translation>
    </message>
    <message>
        <source>step</source>
        <translation>الخطوة</translation>
    </message>
    <message>
        <source>exactly</source>
        <translation>بالضبط</translation>
    </message>
    <message>
        <source>grid</source>
        <translation>الشبكة (grid)</translation>
    </message>
    <message>
        <source>block</source>
        <translation>الكتلة (block)</translation>
    </message>
    <message>
        <source>registers of a thread</source>
        <translation>سجلات الخيط الواحد</translation>
    </message>
    <message>
        <source>shared memory of a block, static</source>
        <translation>الذاكرة المشتركة للكتلة، الثابتة</translation>
    </message>
    <message>
        <source>shared memory of a block, dynamic</source>
        <translation>الذاكرة المشتركة للكتلة، الديناميكية</translation>
    </message>
    <message>
        <source>tensor pipes active</source>
        <translation>انشغال قنوات الموتّرات</translation>
    </message>
    <message>
        <source>correlation</source>
        <translation>معرّف الترابط</translation>
    </message>
    <message>
        <source>%1, %2 from %3 on: %4 spans, %5 together [%6], %7 of the range</source>
        <translation>⁨%1⁩، ⁨%2⁩ ابتداءً من ⁨%3⁩: ⁨%4⁩ مقطعًا، مجموعها ⁨%5⁩ [⁨%6⁩]، ⁨%7⁩ من المدى</translation>
    </message>
    <message>
        <source>steps without a wall time, drawn as long as their kernels or nodes: %1</source>
        <translation>خطوات بلا زمن فعلي، تُرسم بطول أنويتها أو عقدها: ⁨%1⁩</translation>
    </message>
    <message>
        <source>time unknown; drawn as long as its kernels or nodes</source>
        <translation>الزمن غير معروف؛ تُرسم بطول أنويتها أو عقدها</translation>
    </message>
    <message>
        <source>%1, %2 from %3 on: how long they took is unknown; steps without a wall time: %4</source>
        <translation>⁨%1⁩، ⁨%2⁩ ابتداءً من ⁨%3⁩: لا يُعرف كم استغرقت؛ خطوات بلا زمن فعلي: ⁨%4⁩</translation>
    </message>
    <message>
        <source>%1; left out, without a wall time: %2</source>
        <translation>⁨%1⁩؛ تُركت بلا زمن فعلي: ⁨%2⁩</translation>
    </message>
    <message>
        <source>no step&apos;s time: its nodes were counted one after the other by the GPU&apos;s hardware counters</source>
        <translation>ليس زمن خطوة عادية: قيست عقدها واحدة تلو الأخرى بعدّادات المعالج الرسومي</translation>
    </message>
    <message>
        <source>that share is of all kernels of this node together, for a micro-batch, in another step</source>
        <translation>هذه النسبة لجميع أنوية هذه العقدة معًا، في دفعة صغرى، من خطوة أخرى</translation>
    </message>
</context>
<context>
    <name>curves</name>
    <message>
        <source>Training loss</source>
        <translation>خسارة التدريب</translation>
    </message>
    <message>
        <source>Held-out loss</source>
        <translation>خسارة بيانات التحقق</translation>
    </message>
    <message>
        <source>Gradient norm</source>
        <translation>معيار التدرّج</translation>
    </message>
    <message>
        <source>Learning rate</source>
        <translation>معدل التعلّم</translation>
    </message>
    <message>
        <source>Step time</source>
        <translation>زمن الخطوة</translation>
    </message>
    <message>
        <source>%1: %2 (steps: %3)</source>
        <translation>⁨%1⁩: ⁨%2⁩ (الخطوات: ⁨%3⁩)</translation>
    </message>
</context>
<context>
    <name>numerics</name>
    <message>
        <source>Head-room</source>
        <translation>الهامش المتبقي</translation>
    </message>
    <message>
        <source>bits between the greatest magnitude of a result and its format&apos;s limit; below 0: beyond it</source>
        <translation>عدد البتات بين أكبر مقدار في نتيجة وحدّ صيغتها؛ تحت الصفر: تجاوزته</translation>
    </message>
    <message>
        <source>Flushed share</source>
        <translation>حصة المصفَّر</translation>
    </message>
    <message>
        <source>share of the non-zero elements of the gradients that became zero</source>
        <translation>حصة عناصر التدرّجات غير الصفرية التي صارت صفرًا</translation>
    </message>
    <message>
        <source>Error</source>
        <translation>الخطأ</translation>
    </message>
    <message>
        <source>relative RMS difference of a tensor from the fp32 shadow step</source>
        <translation>فرق RMS النسبي بين الموتّر وخطوة fp32 الموازية</translation>
    </message>
    <message>
        <source>Rounding</source>
        <translation>التقريب</translation>
    </message>
    <message>
        <source>RMS of what rounding changed in a result ÷ its RMS</source>
        <translation>RMS لما غيّره التقريب في نتيجة ÷ RMS النتيجة</translation>
    </message>
    <message>
        <source>Lost updates</source>
        <translation>التحديثات الضائعة</translation>
    </message>
    <message>
        <source>share of the weights whose update was rounded away</source>
        <translation>حصة الأوزان التي ضاع تحديثها بالتقريب</translation>
    </message>
    <message>
        <source>%1 bits</source>
        <translation>⁨%1⁩ بت</translation>
    </message>
    <message>
        <source>step %1</source>
        <translation>الخطوة ⁨%1⁩</translation>
    </message>
    <message>
        <source>steps %1 … %2</source>
        <translation>الخطوات ⁨%1⁩ … ⁨%2⁩</translation>
    </message>
    <message>
        <source>values that are not finite once they are stored [%1]</source>
        <translation>قيم غير منتهية عند تخزينها [⁨%1⁩]</translation>
    </message>
    <message>
        <source>made by %1</source>
        <translation>أنتجته ⁨%1⁩</translation>
    </message>
    <message>
        <source>%1 (%2), step %3: greatest magnitude %4, head-room %5, zero %6, flushed to zero %7, overflowed %8, not finite %9 of %10 elements [%11]</source>
        <translation>⁨%1⁩ (⁨%2⁩)، الخطوة ⁨%3⁩: أكبر مقدار ⁨%4⁩، الهامش المتبقي ⁨%5⁩، أصفار ⁨%6⁩، صُفّر ⁨%7⁩، طفح ⁨%8⁩، غير منتهٍ ⁨%9⁩ من ⁨%10⁩ عنصر [⁨%11⁩]</translation>
    </message>
</context>
<context>
    <name>panels</name>
    <message>
        <source>Overview</source>
        <translation>نظرة عامة</translation>
    </message>
    <message>
        <source>Curves</source>
        <translation>المنحنيات</translation>
    </message>
    <message>
        <source>Loss scale</source>
        <translation>مقياس الخسارة (loss scale)</translation>
    </message>
    <message>
        <source>Numerics</source>
        <translation>العددية</translation>
    </message>
    <message>
        <source>Overflows</source>
        <translation>حالات الطفح</translation>
    </message>
    <message>
        <source>Memory</source>
        <translation>الذاكرة</translation>
    </message>
    <message>
        <source>Nodes</source>
        <translation>العقد</translation>
    </message>
    <message>
        <source>Generations</source>
        <translation>الأجيال</translation>
    </message>
    <message>
        <source>Timeline</source>
        <translation>الخط الزمني</translation>
    </message>
</context>
<context>
    <name>report</name>
    <message>
        <source>%1: a report is written as .pdf or .html</source>
        <translation>⁨%1⁩: يُكتب التقرير بصيغة ‎.pdf أو ‎.html</translation>
    </message>
    <message>
        <source>%1 is a run file, or another database, and is not replaced</source>
        <translation>⁨%1⁩ ملف تشغيل أو قاعدة بيانات أخرى، ولا يُستبدل</translation>
    </message>
    <message>
        <source>%1 could not be written: %2</source>
        <translation>تعذّرت كتابة ⁨%1⁩: ⁨%2⁩</translation>
    </message>
</context>
<context>
    <name>text</name>
    <message>
        <source>range</source>
        <translation>المدى</translation>
    </message>
    <message>
        <source>samples</source>
        <translation>العينات</translation>
    </message>
    <message>
        <source>it is</source>
        <translation>طبيعته</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::Chart</name>
    <message>
        <source>nothing on record</source>
        <translation>لا شيء مسجَّل</translation>
    </message>
    <message>
        <source>Undo zoom</source>
        <translation>التراجع عن التكبير</translation>
    </message>
    <message>
        <source>Show everything</source>
        <translation>عرض كل شيء</translation>
    </message>
    <message>
        <source>Copy picture</source>
        <translation>نسخ الصورة</translation>
    </message>
    <message>
        <source>Copy data (CSV)</source>
        <translation>نسخ البيانات (CSV)</translation>
    </message>
    <message>
        <source>Save as…</source>
        <translation>حفظ باسم…</translation>
    </message>
    <message>
        <source>Save chart</source>
        <translation>حفظ الرسم البياني</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::FilterBar</name>
    <message>
        <source>first</source>
        <translation>الأولى</translation>
    </message>
    <message>
        <source>First step to show</source>
        <translation>أول خطوة تُعرض</translation>
    </message>
    <message>
        <source>last</source>
        <translation>الأخيرة</translation>
    </message>
    <message>
        <source>Last step to show</source>
        <translation>آخر خطوة تُعرض</translation>
    </message>
    <message>
        <source>node or tensor</source>
        <translation>عقدة أو موتّر</translation>
    </message>
    <message>
        <source>Part of the names of nodes and tensors to show</source>
        <translation>جزء من أسماء العقد والموتّرات التي تُعرض</translation>
    </message>
    <message>
        <source>Clear filter</source>
        <translation>مسح المرشِّح</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>الخطوات</translation>
    </message>
    <message>
        <source>to</source>
        <translation>إلى</translation>
    </message>
    <message>
        <source>Names</source>
        <translation>الأسماء</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::FirstPage</name>
    <message>
        <source>ulpscope</source>
        <translation>ulpscope</translation>
    </message>
    <message>
        <source>Which precision mode for this model? What overflows, and where? What does it cost?
Open a recording (.ulp), drop one here, or make one.</source>
        <translation>أي نمط دقة لهذا النموذج؟ ما الذي يطفح، وأين؟ وكم الكلفة؟
افتح تسجيلًا (‎.ulp)، أو أفلته هنا، أو اصنع واحدًا.</translation>
    </message>
    <message>
        <source>Recent files</source>
        <translation>الملفات الأخيرة</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::MachinesModel</name>
    <message>
        <source>%1 holds no run</source>
        <translation>لا يحوي ⁨%1⁩ أي تشغيل</translation>
    </message>
    <message>
        <source>why there is no ratio</source>
        <translation>لماذا لا توجد نسبة</translation>
    </message>
    <message>
        <source>%1 (%2)</source>
        <comment>a value and what it is</comment>
        <translation>⁨%1⁩ (⁨%2⁩)</translation>
    </message>
    <message>
        <source>The machine has no runs of %1.</source>
        <translation>لا توجد على هذه الآلة تشغيلات بنمط ⁨%1⁩.</translation>
    </message>
    <message>
        <source>%1: %2 [%3]</source>
        <translation>⁨%1⁩: ⁨%2⁩ [⁨%3⁩]</translation>
    </message>
    <message>
        <source>from %1 to %2</source>
        <translation>من ⁨%1⁩ إلى ⁨%2⁩</translation>
    </message>
    <message>
        <source>By mode</source>
        <translation>بحسب النمط</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::MainWindow</name>
    <message>
        <source>%1 could not be written: %2</source>
        <translation>تعذّرت كتابة ⁨%1⁩: ⁨%2⁩</translation>
    </message>
    <message>
        <source>Export report</source>
        <translation>تصدير التقرير</translation>
    </message>
    <message>
        <source>Web page (*.html)</source>
        <translation>صفحة ويب (*.html)</translation>
    </message>
    <message>
        <source>Writing %1 …</source>
        <translation>كتابة ⁨%1⁩ جارية…</translation>
    </message>
    <message>
        <source>The report is in %1</source>
        <translation>التقرير في ⁨%1⁩</translation>
    </message>
    <message>
        <source>&amp;View</source>
        <translation>&amp;عرض</translation>
    </message>
    <message>
        <source>&amp;Colours</source>
        <translation>الأ&amp;لوان</translation>
    </message>
    <message>
        <source>As the system</source>
        <translation>كما في النظام</translation>
    </message>
    <message>
        <source>Light</source>
        <translation>فاتح</translation>
    </message>
    <message>
        <source>Dark</source>
        <translation>داكن</translation>
    </message>
    <message>
        <source>&amp;Language</source>
        <translation>الل&amp;غة</translation>
    </message>
    <message>
        <source>&amp;First layout</source>
        <translation>الترتيب الأ&amp;صلي</translation>
    </message>
    <message>
        <source>A run is going on: the language changes when the viewer is started anew</source>
        <translation>هناك تشغيل جارٍ: تتغيّر اللغة عند بدء العارض من جديد</translation>
    </message>
    <message>
        <source>&amp;Run</source>
        <translation>&amp;تشغيل</translation>
    </message>
    <message>
        <source>&amp;New run…</source>
        <translation>تشغيل &amp;جديد…</translation>
    </message>
    <message>
        <source>&amp;Resume</source>
        <translation>اس&amp;تئناف</translation>
    </message>
    <message>
        <source>Goes on with the current file, which was interrupted or cut off</source>
        <translation>يواصل الملف الحالي الذي أوقف أو انقطع</translation>
    </message>
    <message>
        <source>&amp;Stop</source>
        <translation>إي&amp;قاف</translation>
    </message>
    <message>
        <source>Run the &amp;demo</source>
        <translation>تشغيل ال&amp;عرض التجريبي</translation>
    </message>
    <message>
        <source>&amp;Help</source>
        <translation>&amp;مساعدة</translation>
    </message>
    <message>
        <source>&amp;About</source>
        <translation>&amp;حول</translation>
    </message>
    <message>
        <source>About ulpscope</source>
        <translation>حول ulpscope</translation>
    </message>
    <message>
        <source>&lt;p&gt;&lt;b&gt;ulpscope %1&lt;/b&gt;: the viewer of recordings.&lt;/p&gt;&lt;p&gt;The viewer is free software under the GNU General Public License, version 3, as QCustomPlot is, with which it draws. It comes without any warranty.&lt;/p&gt;</source>
        <translation>&lt;p&gt;&lt;b&gt;ulpscope ⁨%1⁩&lt;/b&gt;: عارض التسجيلات.&lt;/p&gt;&lt;p&gt;العارض برنامج حر برخصة غنو العمومية العامة، الإصدار 3، مثل QCustomPlot التي يرسم بها. ولا يأتي معه أي ضمان.&lt;/p&gt;</translation>
    </message>
    <message>
        <source>About &amp;Qt</source>
        <translation>حول &amp;Qt</translation>
    </message>
    <message>
        <source>The run ended with exit code %1</source>
        <translation>انتهى التشغيل برمز الخروج ⁨%1⁩</translation>
    </message>
    <message>
        <source>Show the log</source>
        <translation>عرض السجل</translation>
    </message>
    <message>
        <source>A run is going on</source>
        <translation>هناك تشغيل جارٍ</translation>
    </message>
    <message>
        <source>The run was asked to stop and ends after its step.</source>
        <translation>طُلب من التشغيل أن يتوقف وسينتهي بعد خطوته.</translation>
    </message>
    <message>
        <source>A run that was started here is still going on.</source>
        <translation>لا يزال تشغيل بدأ من هنا جاريًا.</translation>
    </message>
    <message>
        <source>Stopped, it ends after its step, and Run → Resume goes on with it. Left to go on, it needs no viewer; its messages go to %1.</source>
        <translation>إذا أُوقف انتهى بعد خطوته، ويواصله «تشغيل ← استئناف». وإذا تُرك ليستمر لم يحتج إلى العارض؛ وتُكتب رسائله في ⁨%1⁩.</translation>
    </message>
    <message>
        <source>Stop it and close</source>
        <translation>إيقافه والإغلاق</translation>
    </message>
    <message>
        <source>Let it go on and close</source>
        <translation>تركه يستمر والإغلاق</translation>
    </message>
    <message>
        <source>Do not close</source>
        <translation>عدم الإغلاق</translation>
    </message>
    <message>
        <source>The run ends after its step; then the window closes</source>
        <translation>ينتهي التشغيل بعد خطوته ثم تُغلق النافذة</translation>
    </message>
    <message>
        <source>The demo&apos;s experiment (examples/demo.toml) is not where the viewer looks for it: beside its build, or in share/ulpscope</source>
        <translation>تجربة العرض (examples/demo.toml) ليست حيث يبحث عنها العارض: بجانب ملفات بنائه أو في share/ulpscope</translation>
    </message>
    <message>
        <source>The folder %1 cannot be made</source>
        <translation>لا يمكن إنشاء المجلد ⁨%1⁩</translation>
    </message>
    <message>
        <source>ulpscope</source>
        <translation>ulpscope</translation>
    </message>
    <message>
        <source>Open a recording…</source>
        <translation>فتح تسجيل…</translation>
    </message>
    <message>
        <source>a run file (.ulp) that was made before, or is being made now</source>
        <translation>ملف تشغيل (‎.ulp) أُنشئ من قبل، أو يُنشأ الآن</translation>
    </message>
    <message>
        <source>Run the demo</source>
        <translation>تشغيل العرض التجريبي</translation>
    </message>
    <message>
        <source>trains a small model in four precision modes, for about a minute, and shows it while it runs</source>
        <translation>يدرّب نموذجًا صغيرًا بأربعة أنماط دقة نحو دقيقة، ويعرضه أثناء التشغيل</translation>
    </message>
    <message>
        <source>New run…</source>
        <translation>تشغيل جديد…</translation>
    </message>
    <message>
        <source>your model and data, in the modes you choose</source>
        <translation>نموذجك وبياناتك، بالأنماط التي تختارها</translation>
    </message>
    <message>
        <source>Filter</source>
        <translation>المرشِّح</translation>
    </message>
    <message>
        <source>Runs</source>
        <translation>التشغيلات</translation>
    </message>
    <message>
        <source>Run log</source>
        <translation>سجل التشغيل</translation>
    </message>
    <message>
        <source>&amp;File</source>
        <translation>&amp;ملف</translation>
    </message>
    <message>
        <source>&amp;Open…</source>
        <translation>&amp;فتح…</translation>
    </message>
    <message>
        <source>Open &amp;recent</source>
        <translation>فتح ال&amp;أخيرة</translation>
    </message>
    <message>
        <source>Re&amp;load</source>
        <translation>إعادة ال&amp;تحميل</translation>
    </message>
    <message>
        <source>&amp;Close file</source>
        <translation>إ&amp;غلاق الملف</translation>
    </message>
    <message>
        <source>&amp;Export report…</source>
        <translation>ت&amp;صدير التقرير…</translation>
    </message>
    <message>
        <source>&amp;Find nodes</source>
        <translation>&amp;بحث عن عقد</translation>
    </message>
    <message>
        <source>&amp;Quit</source>
        <translation>إ&amp;نهاء</translation>
    </message>
    <message>
        <source>none yet</source>
        <translation>لا شيء بعد</translation>
    </message>
    <message>
        <source>Forget them</source>
        <translation>نسيانها</translation>
    </message>
    <message>
        <source>Open a recording</source>
        <translation>فتح تسجيل</translation>
    </message>
    <message>
        <source>Run files (*.ulp)</source>
        <translation>ملفات التشغيل (*.ulp)</translation>
    </message>
    <message>
        <source>All files (*)</source>
        <translation>كل الملفات (*)</translation>
    </message>
    <message>
        <source>%1 is not a file on this machine</source>
        <translation>⁨%1⁩ ليس ملفًا على هذه الآلة</translation>
    </message>
    <message>
        <source>Try again</source>
        <translation>إعادة المحاولة</translation>
    </message>
    <message>
        <source>Close file</source>
        <translation>إغلاق الملف</translation>
    </message>
    <message>
        <source>%1 – ulpscope</source>
        <translation>⁨%1⁩ – ulpscope</translation>
    </message>
    <message>
        <source>Document (*.pdf)</source>
        <translation>مستند (*.pdf)</translation>
    </message>
    <message>
        <source>%1 is there already. Is it to be replaced?</source>
        <translation>⁨%1⁩ موجود من قبل. هل يُستبدل؟</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::MemoryModel</name>
    <message>
        <source>peak, as planned</source>
        <translation>الذروة كما خُطّطت</translation>
    </message>
    <message>
        <source>%1 bytes [%2]</source>
        <translation>⁨%1⁩ بايت [⁨%2⁩]</translation>
    </message>
    <message>
        <source>of the memory plan, before the first step
%1</source>
        <translation>من مخطط الذاكرة، قبل الخطوة الأولى
⁨%1⁩</translation>
    </message>
    <message>
        <source>peak ÷ fp32&apos;s, both without what was held to observe [%1]</source>
        <translation>الذروة ÷ ذروة fp32، كلتاهما دون ما حُجز للرصد [⁨%1⁩]</translation>
    </message>
    <message>
        <source>At the peak</source>
        <translation>عند الذروة</translation>
    </message>
    <message>
        <source>of %1, the run of the mode with the greatest peak</source>
        <translation>من ⁨%1⁩، تشغيل النمط ذي أكبر ذروة</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::MessageBar</name>
    <message>
        <source>Dismiss</source>
        <translation>إخفاء</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::ModesModel</name>
    <message>
        <source>none</source>
        <translation>لا يوجد</translation>
    </message>
    <message>
        <source>plain</source>
        <translation>عادي</translation>
    </message>
    <message>
        <source>%1 (%2)</source>
        <comment>a value and what it is</comment>
        <translation>⁨%1⁩ (⁨%2⁩)</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::NodesModel</name>
    <message>
        <source>none here</source>
        <translation>لا توجد هنا</translation>
    </message>
    <message>
        <source>yes</source>
        <translation>نعم</translation>
    </message>
    <message>
        <source>no</source>
        <translation>لا</translation>
    </message>
    <message>
        <source>not materialised</source>
        <translation>لا تُخزَّن</translation>
    </message>
    <message>
        <source>in %1</source>
        <translation>ضمن ⁨%1⁩</translation>
    </message>
    <message>
        <source>reads %1
writes %2</source>
        <translation>تقرأ ⁨%1⁩
تكتب ⁨%2⁩</translation>
    </message>
    <message>
        <source>%1 FLOP of one call, from the shapes [%2]</source>
        <translation>⁨%1⁩ FLOP لاستدعاء واحد، من الأشكال [⁨%2⁩]</translation>
    </message>
    <message>
        <source>bytes of one call, from the shapes [%1]</source>
        <translation>بايتات استدعاء واحد، من الأشكال [⁨%1⁩]</translation>
    </message>
    <message>
        <source>launched together with %1, whose time holds this one&apos;s</source>
        <translation>أُطلقت مع ⁨%1⁩ التي يشمل زمنها زمن هذه</translation>
    </message>
    <message>
        <source>%1 in a step [%2]</source>
        <translation>⁨%1⁩ في الخطوة [⁨%2⁩]</translation>
    </message>
    <message>
        <source>#</source>
        <translation>#</translation>
    </message>
    <message>
        <source>Node</source>
        <translation>العقدة</translation>
    </message>
    <message>
        <source>Operation</source>
        <translation>العملية</translation>
    </message>
    <message>
        <source>Phase</source>
        <translation>المرحلة</translation>
    </message>
    <message>
        <source>Formats</source>
        <translation>الصيغ</translation>
    </message>
    <message>
        <source>Computed in</source>
        <translation>محسوبة في</translation>
    </message>
    <message>
        <source>FLOP</source>
        <translation>FLOP</translation>
    </message>
    <message>
        <source>Read</source>
        <translation>المقروء</translation>
    </message>
    <message>
        <source>Written</source>
        <translation>المكتوب</translation>
    </message>
    <message>
        <source>Tensor cores</source>
        <translation>أنوية الموتّرات</translation>
    </message>
    <message>
        <source>Why this format</source>
        <translation>لماذا هذه الصيغة</translation>
    </message>
    <message>
        <source>Time in %1</source>
        <translation>الزمن في ⁨%1⁩</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::NoticeFrame</name>
    <message>
        <source>Note</source>
        <translation>ملاحظة</translation>
    </message>
    <message>
        <source>Warning</source>
        <translation>تحذير</translation>
    </message>
    <message>
        <source>Fault</source>
        <translation>خلل</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::OperandsModel</name>
    <message>
        <source>of %1 elements, in this step [%2]</source>
        <translation>من ⁨%1⁩ عنصر، في هذه الخطوة [⁨%2⁩]</translation>
    </message>
    <message>
        <source>not observed in this step</source>
        <translation>لم يُرصد في هذه الخطوة</translation>
    </message>
    <message>
        <source>reads</source>
        <translation>تقرأ</translation>
    </message>
    <message>
        <source>makes</source>
        <translation>تُنتج</translation>
    </message>
    <message>
        <source>scalar</source>
        <translation>عدد مفرد</translation>
    </message>
    <message>
        <source>no operation: an input or a weight</source>
        <translation>لا عملية: مدخل أو وزن</translation>
    </message>
    <message>
        <source>nothing</source>
        <translation>لا شيء</translation>
    </message>
    <message>
        <source>Tensor</source>
        <translation>الموتّر</translation>
    </message>
    <message>
        <source>Format</source>
        <translation>الصيغة</translation>
    </message>
    <message>
        <source>Shape</source>
        <translation>الشكل</translation>
    </message>
    <message>
        <source>Made by, read by</source>
        <translation>أنتجته، قرأته</translation>
    </message>
    <message>
        <source>Not finite</source>
        <translation>غير منتهٍ</translation>
    </message>
    <message>
        <source>Greatest</source>
        <translation>الأكبر</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::OverflowsModel</name>
    <message>
        <source>Nothing was observed in this step, so that it is unknown where it began.</source>
        <translation>لم يُرصد شيء في هذه الخطوة، فلا يُعرف أين بدأ.</translation>
    </message>
    <message>
        <source>In the observed tensors of this step no operation made a value that is not finite of finite ones.</source>
        <translation>في الموتّرات المرصودة لهذه الخطوة لم تُنتج أي عملية قيمة غير منتهية من قيم منتهية.</translation>
    </message>
    <message>
        <source>It began in %1 (%2, %3): %4 elements of %5, in %6, are not finite; the greatest finite magnitude is %7 [%8].</source>
        <translation>بدأ في ⁨%1⁩ (⁨%2⁩، ⁨%3⁩): ⁨%4⁩ من عناصر ⁨%5⁩، بصيغة ⁨%6⁩، غير منتهية؛ وأكبر مقدار منتهٍ هو ⁨%7⁩ [⁨%8⁩].</translation>
    </message>
    <message>
        <source>%1: %2 [%3]</source>
        <translation>⁨%1⁩: ⁨%2⁩ [⁨%3⁩]</translation>
    </message>
    <message>
        <source>It reaches %1.</source>
        <translation>يصل إلى ⁨%1⁩.</translation>
    </message>
    <message numerus="yes">
        <source>%n more</source>
        <translation>
            <numerusform>ولا شيء غيرها</numerusform>
            <numerusform>وواحدة أخرى</numerusform>
            <numerusform>واثنتان أخريان</numerusform>
            <numerusform>و⁨%n⁩ أخرى</numerusform>
            <numerusform>و⁨%n⁩ أخرى</numerusform>
            <numerusform>و⁨%n⁩ أخرى</numerusform>
        </translation>
    </message>
    <message>
        <source>From there on: %1</source>
        <translation>ومن هناك: ⁨%1⁩</translation>
    </message>
    <message>
        <source>What may help, what costs least first</source>
        <translation>ما قد ينفع، والأقل كلفة أولًا</translation>
    </message>
    <message>
        <source>Verdict on %1</source>
        <translation>الحكم على ⁨%1⁩</translation>
    </message>
    <message>
        <source>%1: overflow in step %2</source>
        <translation>⁨%1⁩: طفح في الخطوة ⁨%2⁩</translation>
    </message>
    <message>
        <source>the step was skipped</source>
        <translation>تُخطّيت الخطوة</translation>
    </message>
    <message>
        <source>the step was applied all the same</source>
        <translation>طُبّقت الخطوة مع ذلك</translation>
    </message>
    <message>
        <source>loss scale %1</source>
        <translation>مقياس الخسارة ⁨%1⁩</translation>
    </message>
    <message>
        <source>no loss scale on record</source>
        <translation>لا يوجد مقياس خسارة مسجَّل</translation>
    </message>
    <message>
        <source>A gradient was not finite: %1 (%2, loss %3) [%4].</source>
        <translation>كان أحد التدرّجات غير منتهٍ: ⁨%1⁩ (⁨%2⁩، الخسارة ⁨%3⁩) [⁨%4⁩].</translation>
    </message>
    <message>
        <source>Verdict on the run</source>
        <translation>الحكم على التشغيل</translation>
    </message>
    <message>
        <source>none</source>
        <translation>لا يوجد</translation>
    </message>
    <message>
        <source>skipped</source>
        <translation>متخطّاة</translation>
    </message>
    <message>
        <source>applied</source>
        <translation>مطبَّقة</translation>
    </message>
    <message>
        <source>A gradient of step %1 was not finite; the step was %2 [%3]</source>
        <translation>كان أحد تدرّجات الخطوة ⁨%1⁩ غير منتهٍ؛ والخطوة ⁨%2⁩ [⁨%3⁩]</translation>
    </message>
    <message>
        <source>loss scale in force in the step [%1]</source>
        <translation>مقياس الخسارة الساري في الخطوة [⁨%1⁩]</translation>
    </message>
    <message>
        <source>No cause was found for this operation.</source>
        <translation>لم يُعثر على سبب لهذه العملية.</translation>
    </message>
    <message>
        <source>Nothing was observed in this step: where it began is unknown.</source>
        <translation>لم يُرصد شيء في هذه الخطوة: لا يُعرف أين بدأ.</translation>
    </message>
    <message>
        <source>elements that are not finite once they are stored [%1]</source>
        <translation>عناصر غير منتهية عند تخزينها [⁨%1⁩]</translation>
    </message>
    <message>
        <source>greatest magnitude of the finite elements, before rounding [%1]</source>
        <translation>أكبر مقدار للعناصر المنتهية، قبل التقريب [⁨%1⁩]</translation>
    </message>
    <message>
        <source>In this step no operation was seen that made such a value of finite ones.</source>
        <translation>لم تُرَ في هذه الخطوة عملية أنتجت مثل هذه القيمة من قيم منتهية.</translation>
    </message>
    <message>
        <source>%1
the first operation that made a value that is not finite of finite ones [%2]</source>
        <translation>⁨%1⁩
أول عملية أنتجت قيمة غير منتهية من قيم منتهية [⁨%2⁩]</translation>
    </message>
    <message>
        <source>Step</source>
        <translation>الخطوة</translation>
    </message>
    <message>
        <source>Run</source>
        <translation>التشغيل</translation>
    </message>
    <message>
        <source>Began in</source>
        <translation>بدأ في</translation>
    </message>
    <message>
        <source>Operation</source>
        <translation>العملية</translation>
    </message>
    <message>
        <source>Phase</source>
        <translation>المرحلة</translation>
    </message>
    <message>
        <source>Tensor</source>
        <translation>الموتّر</translation>
    </message>
    <message>
        <source>Format</source>
        <translation>الصيغة</translation>
    </message>
    <message>
        <source>Not finite</source>
        <translation>غير منتهٍ</translation>
    </message>
    <message>
        <source>Greatest</source>
        <translation>الأكبر</translation>
    </message>
    <message>
        <source>Loss scale</source>
        <translation>مقياس الخسارة (loss scale)</translation>
    </message>
    <message>
        <source>Step was</source>
        <translation>الخطوة كانت</translation>
    </message>
    <message>
        <source>Kind</source>
        <translation>النوع</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::RunDialog</name>
    <message>
        <source>New run</source>
        <translation>تشغيل جديد</translation>
    </message>
    <message>
        <source>Experiment file</source>
        <translation>ملف التجربة</translation>
    </message>
    <message>
        <source>none: model and data below</source>
        <translation>لا يوجد: النموذج والبيانات أدناه</translation>
    </message>
    <message>
        <source>Experiments (*.toml)</source>
        <translation>التجارب (*.toml)</translation>
    </message>
    <message>
        <source>as in the file</source>
        <translation>كما في الملف</translation>
    </message>
    <message>
        <source>Model</source>
        <translation>النموذج</translation>
    </message>
    <message>
        <source>Data</source>
        <translation>البيانات</translation>
    </message>
    <message>
        <source>text files or folders, several with commas</source>
        <translation>ملفات نصية أو مجلدات، تفصل بينها فواصل</translation>
    </message>
    <message>
        <source>Folder of texts</source>
        <translation>مجلد النصوص</translation>
    </message>
    <message>
        <source>Modes</source>
        <translation>الأنماط</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>الخطوات</translation>
    </message>
    <message>
        <source>A verdict needs 3</source>
        <translation>يحتاج الحكم إلى 3</translation>
    </message>
    <message>
        <source>Seeds</source>
        <translation>البذور</translation>
    </message>
    <message>
        <source>Run file</source>
        <translation>ملف التشغيل</translation>
    </message>
    <message>
        <source>where it is recorded</source>
        <translation>حيث يُسجَّل</translation>
    </message>
    <message>
        <source>Run files (*.ulp)</source>
        <translation>ملفات التشغيل (*.ulp)</translation>
    </message>
    <message>
        <source>replace the file if it is there</source>
        <translation>استبدال الملف إن كان موجودًا</translation>
    </message>
    <message>
        <source>The same as a command</source>
        <translation>الشيء نفسه كأمر</translation>
    </message>
    <message>
        <source>Copy</source>
        <translation>نسخ</translation>
    </message>
    <message>
        <source>As a command</source>
        <translation>كأمر</translation>
    </message>
    <message>
        <source>Start</source>
        <translation>بدء</translation>
    </message>
    <message>
        <source>Choose…</source>
        <translation>اختيار…</translation>
    </message>
    <message>
        <source>Choose: %1</source>
        <translation>اختيار: ⁨%1⁩</translation>
    </message>
    <message>
        <source>None ticked: as in the file</source>
        <translation>بلا تحديد: كما في الملف</translation>
    </message>
    <message>
        <source>There is no experiment file %1</source>
        <translation>لا يوجد ملف تجربة ⁨%1⁩</translation>
    </message>
    <message>
        <source>Choose an experiment file, or a model and data</source>
        <translation>اختر ملف تجربة، أو نموذجًا وبيانات</translation>
    </message>
    <message>
        <source>Choose the data to train on</source>
        <translation>اختر بيانات التدريب</translation>
    </message>
    <message>
        <source>There is no file or folder %1</source>
        <translation>لا يوجد ملف أو مجلد ⁨%1⁩</translation>
    </message>
    <message>
        <source>Choose the run file</source>
        <translation>اختر ملف التشغيل</translation>
    </message>
    <message>
        <source>There is no folder %1</source>
        <translation>لا يوجد مجلد ⁨%1⁩</translation>
    </message>
    <message>
        <source>%1 is there already: choose another name, or tick that it is replaced</source>
        <translation>⁨%1⁩ موجود من قبل: اختر اسمًا آخر، أو حدّد أنه يُستبدل</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::RunDocument</name>
    <message>
        <source>No thread could be begun to read it: %1</source>
        <translation>تعذّر بدء خيط لقراءته: ⁨%1⁩</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::RunLog</name>
    <message>
        <source>no run was started here</source>
        <translation>لم يبدأ أي تشغيل من هنا</translation>
    </message>
    <message>
        <source>Stop</source>
        <translation>إيقاف</translation>
    </message>
    <message>
        <source>Ends the run after its step, as Ctrl-C does; it can be gone on with</source>
        <translation>ينهي التشغيل بعد خطوته كما يفعل Ctrl-C؛ ويمكن استئنافه</translation>
    </message>
    <message>
        <source>What the run says</source>
        <translation>ما يقوله التشغيل</translation>
    </message>
    <message>
        <source>running: %1</source>
        <translation>قيد التشغيل: ⁨%1⁩</translation>
    </message>
    <message>
        <source>finished</source>
        <translation>منتهٍ</translation>
    </message>
    <message>
        <source>stopped; Run → Resume goes on</source>
        <translation>أُوقف؛ «تشغيل ← استئناف» يواصله</translation>
    </message>
    <message>
        <source>stopped before it began</source>
        <translation>أُوقف قبل أن يبدأ</translation>
    </message>
    <message>
        <source>ended with exit code %1</source>
        <translation>انتهى برمز الخروج ⁨%1⁩</translation>
    </message>
    <message>
        <source>%1: step %2 of %3</source>
        <translation>⁨%1⁩: الخطوة ⁨%2⁩ من ⁨%3⁩</translation>
    </message>
    <message>
        <source>%1: step %2, of how many is unknown</source>
        <translation>⁨%1⁩: الخطوة ⁨%2⁩، من عدد غير معروف</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::RunProcess</name>
    <message>
        <source>A run is going on already; stop it first, or wait for its end</source>
        <translation>هناك تشغيل جارٍ من قبل؛ أوقفه أولًا أو انتظر نهايته</translation>
    </message>
    <message>
        <source>The program ulpscope is neither beside the viewer nor in PATH</source>
        <translation>برنامج ulpscope ليس بجانب العارض ولا في PATH</translation>
    </message>
    <message>
        <source>%1 could not be written: %2</source>
        <translation>تعذّرت كتابة ⁨%1⁩: ⁨%2⁩</translation>
    </message>
    <message>
        <source>%1 could not be read: %2</source>
        <translation>تعذّرت قراءة ⁨%1⁩: ⁨%2⁩</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::RunToggles</name>
    <message>
        <source>Modes</source>
        <translation>الأنماط</translation>
    </message>
    <message>
        <source>Seeds</source>
        <translation>البذور</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::RunsModel</name>
    <message>
        <source>loading</source>
        <translation>قيد التحميل</translation>
    </message>
    <message>
        <source>live</source>
        <translation>مباشر</translation>
    </message>
    <message>
        <source>finished</source>
        <translation>منتهٍ</translation>
    </message>
    <message>
        <source>cut off</source>
        <translation>منقطع</translation>
    </message>
    <message>
        <source>vanished</source>
        <translation>اختفى</translation>
    </message>
    <message>
        <source>cannot be read</source>
        <translation>تتعذّر قراءته</translation>
    </message>
    <message>
        <source>%1 of %2</source>
        <comment>steps</comment>
        <translation>⁨%1⁩ من ⁨%2⁩</translation>
    </message>
    <message>
        <source>%1 on %2, device %3 (%4)</source>
        <translation>⁨%1⁩ على ⁨%2⁩، الجهاز ⁨%3⁩ (⁨%4⁩)</translation>
    </message>
    <message>
        <source>Run</source>
        <translation>التشغيل</translation>
    </message>
    <message>
        <source>Steps</source>
        <translation>الخطوات</translation>
    </message>
    <message>
        <source>Status</source>
        <translation>الحالة</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::RunsView</name>
    <message>
        <source>Open files and their runs</source>
        <translation>الملفات المفتوحة وتشغيلاتها</translation>
    </message>
    <message>
        <source>Show only this run</source>
        <translation>عرض هذا التشغيل وحده</translation>
    </message>
    <message>
        <source>Show all runs</source>
        <translation>عرض كل التشغيلات</translation>
    </message>
    <message>
        <source>Reload</source>
        <translation>إعادة التحميل</translation>
    </message>
    <message>
        <source>Close file</source>
        <translation>إغلاق الملف</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::ScaleModel</name>
    <message>
        <source>no scale suits</source>
        <translation>لا يناسب أي مقياس</translation>
    </message>
    <message>
        <source>up to %1</source>
        <translation>حتى ⁨%1⁩</translation>
    </message>
    <message>
        <source>from %1</source>
        <translation>من ⁨%1⁩</translation>
    </message>
    <message>
        <source>every scale</source>
        <translation>كل المقاييس</translation>
    </message>
    <message>
        <source>narrowest layers:</source>
        <translation>أضيق الطبقات:</translation>
    </message>
    <message>
        <source>%1, loss scaling %2</source>
        <translation>⁨%1⁩، تحجيم الخسارة ⁨%2⁩</translation>
    </message>
    <message>
        <source>in force in that step [%1]</source>
        <translation>الساري في تلك الخطوة [⁨%1⁩]</translation>
    </message>
    <message>
        <source>events of a scale that changed [%1]</source>
        <translation>أحداث تغيّر المقياس [⁨%1⁩]</translation>
    </message>
    <message>
        <source>steps whose gradients were not finite [%1]</source>
        <translation>خطوات تدرّجاتها غير منتهية [⁨%1⁩]</translation>
    </message>
    <message>
        <source>There is no scaled gradient of a narrow range, or none was observed.</source>
        <translation>لا يوجد تدرّج محجَّم ضيق المدى، أو لم يُرصد أي منها.</translation>
    </message>
    <message>
        <source>loses most below the lowest scale: %1, step %2</source>
        <translation>الأكثر ضياعًا تحت أدنى مقياس: ⁨%1⁩، الخطوة ⁨%2⁩</translation>
    </message>
    <message>
        <source>overflows first above the highest scale: %1, step %2</source>
        <translation>الأول طفحًا فوق أعلى مقياس: ⁨%1⁩، الخطوة ⁨%2⁩</translation>
    </message>
    <message numerus="yes">
        <source>scales that suit the gradients of all layers in %n observed step(s) [%1]</source>
        <translation>
            <numerusform>المقاييس التي تناسب تدرّجات كل الطبقات، بلا خطوات مرصودة [⁨%1⁩]</numerusform>
            <numerusform>المقاييس التي تناسب تدرّجات كل الطبقات في خطوة مرصودة واحدة [⁨%1⁩]</numerusform>
            <numerusform>المقاييس التي تناسب تدرّجات كل الطبقات في خطوتين مرصودتين [⁨%1⁩]</numerusform>
            <numerusform>المقاييس التي تناسب تدرّجات كل الطبقات في ⁨%n⁩ خطوات مرصودة [⁨%1⁩]</numerusform>
            <numerusform>المقاييس التي تناسب تدرّجات كل الطبقات في ⁨%n⁩ خطوة مرصودة [⁨%1⁩]</numerusform>
            <numerusform>المقاييس التي تناسب تدرّجات كل الطبقات في ⁨%n⁩ خطوة مرصودة [⁨%1⁩]</numerusform>
        </translation>
    </message>
    <message>
        <source>in the latest of them alone: %1; in force there: %2</source>
        <translation>في آخرها وحدها: ⁨%1⁩؛ والساري فيها: ⁨%2⁩</translation>
    </message>
    <message>
        <source>Run</source>
        <translation>التشغيل</translation>
    </message>
    <message>
        <source>First scale</source>
        <translation>أول مقياس</translation>
    </message>
    <message>
        <source>Last scale</source>
        <translation>آخر مقياس</translation>
    </message>
    <message>
        <source>Changes</source>
        <translation>التغيّرات</translation>
    </message>
    <message>
        <source>Overflows</source>
        <translation>حالات الطفح</translation>
    </message>
    <message>
        <source>Window</source>
        <translation>النافذة</translation>
    </message>
    <message>
        <source>Decides below</source>
        <translation>يحدّد الأدنى</translation>
    </message>
    <message>
        <source>Decides above</source>
        <translation>يحدّد الأعلى</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::TableView</name>
    <message>
        <source>Copy</source>
        <translation>نسخ</translation>
    </message>
    <message>
        <source>Copy table</source>
        <translation>نسخ الجدول</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::TimelineChart</name>
    <message>
        <source>laid out</source>
        <translation>موضوع بالترتيب</translation>
    </message>
    <message>
        <source>as recorded</source>
        <translation>كما سُجّل</translation>
    </message>
    <message>
        <source>and %1 more here: zoom in</source>
        <translation>و⁨%1⁩ أخرى هنا: كبّر</translation>
    </message>
    <message>
        <source>Undo zoom</source>
        <translation>التراجع عن التكبير</translation>
    </message>
    <message>
        <source>Show everything</source>
        <translation>عرض كل شيء</translation>
    </message>
    <message>
        <source>Show the chosen span</source>
        <translation>عرض المقطع المختار</translation>
    </message>
    <message>
        <source>Sum up what is in view</source>
        <translation>جمع ما هو معروض</translation>
    </message>
    <message>
        <source>Let go of the range</source>
        <translation>ترك المدى</translation>
    </message>
    <message>
        <source>Copy picture</source>
        <translation>نسخ الصورة</translation>
    </message>
    <message>
        <source>Copy data (CSV)</source>
        <translation>نسخ البيانات (CSV)</translation>
    </message>
    <message>
        <source>Save as…</source>
        <translation>حفظ باسم…</translation>
    </message>
    <message>
        <source>Save chart</source>
        <translation>حفظ الرسم البياني</translation>
    </message>
    <message>
        <source>nothing on record</source>
        <translation>لا شيء مسجَّل</translation>
    </message>
</context>
<context>
    <name>ulpscope::gui::TimelineSumsModel</name>
    <message>
        <source>%1, of what lies within the range [%2]</source>
        <translation>⁨%1⁩، مما يقع ضمن المدى [⁨%2⁩]</translation>
    </message>
    <message>
        <source>of the length of the range</source>
        <translation>من طول المدى</translation>
    </message>
    <message>
        <source>name</source>
        <translation>الاسم</translation>
    </message>
    <message>
        <source>count</source>
        <translation>العدد</translation>
    </message>
    <message>
        <source>time</source>
        <translation>الزمن</translation>
    </message>
    <message>
        <source>mean</source>
        <translation>المتوسط</translation>
    </message>
    <message>
        <source>longest</source>
        <translation>الأطول</translation>
    </message>
    <message>
        <source>share</source>
        <translation>الحصة</translation>
    </message>
</context>
<context>
    <name>words</name>
    <message>
        <source>verdict</source>
        <translation>الحكم</translation>
    </message>
    <message>
        <source>measured</source>
        <translation>مقيس</translation>
    </message>
    <message>
        <source>counted</source>
        <translation>معدود</translation>
    </message>
    <message>
        <source>computed</source>
        <translation>محسوب</translation>
    </message>
    <message>
        <source>recomputed</source>
        <translation>معاد حسابه</translation>
    </message>
    <message>
        <source>inferred</source>
        <translation>مستنتج</translation>
    </message>
    <message>
        <source>emulated</source>
        <translation>محاكى</translation>
    </message>
    <message>
        <source>projected</source>
        <translation>متوقَّع</translation>
    </message>
    <message>
        <source>unknown</source>
        <translation>غير معروف</translation>
    </message>
    <message>
        <source>running</source>
        <translation>جارٍ</translation>
    </message>
    <message>
        <source>finished</source>
        <translation>منتهٍ</translation>
    </message>
    <message>
        <source>interrupted</source>
        <translation>موقوف</translation>
    </message>
    <message>
        <source>failed</source>
        <translation>فشل</translation>
    </message>
    <message>
        <source>reference</source>
        <translation>المرجع</translation>
    </message>
    <message>
        <source>inside</source>
        <translation>ضمن الحد</translation>
    </message>
    <message>
        <source>better</source>
        <translation>أفضل</translation>
    </message>
    <message>
        <source>worse</source>
        <translation>أسوأ</translation>
    </message>
    <message>
        <source>undecided</source>
        <translation>غير محسوم</translation>
    </message>
    <message>
        <source>forward</source>
        <translation>أمامي</translation>
    </message>
    <message>
        <source>backward</source>
        <translation>خلفي</translation>
    </message>
    <message>
        <source>update</source>
        <translation>تحديث</translation>
    </message>
    <message>
        <source>input</source>
        <translation>مدخل</translation>
    </message>
    <message>
        <source>activation</source>
        <translation>تنشيط</translation>
    </message>
    <message>
        <source>weight</source>
        <translation>وزن</translation>
    </message>
    <message>
        <source>master weight</source>
        <translation>وزن رئيسي</translation>
    </message>
    <message>
        <source>gradient</source>
        <translation>تدرّج</translation>
    </message>
    <message>
        <source>optimizer state</source>
        <translation>حالة المحسِّن</translation>
    </message>
    <message>
        <source>buffer</source>
        <translation>مخزن مؤقت</translation>
    </message>
    <message>
        <source>internal</source>
        <translation>داخلي</translation>
    </message>
    <message>
        <source>weights</source>
        <translation>الأوزان</translation>
    </message>
    <message>
        <source>master weights</source>
        <translation>الأوزان الرئيسية</translation>
    </message>
    <message>
        <source>gradients</source>
        <translation>التدرّجات</translation>
    </message>
    <message>
        <source>activations</source>
        <translation>التنشيطات</translation>
    </message>
    <message>
        <source>casts</source>
        <translation>التحويلات</translation>
    </message>
    <message>
        <source>workspace</source>
        <translation>حيّز العمل</translation>
    </message>
    <message>
        <source>inputs</source>
        <translation>المدخلات</translation>
    </message>
    <message>
        <source>gaps</source>
        <translation>الفجوات</translation>
    </message>
    <message>
        <source>observation</source>
        <translation>الرصد</translation>
    </message>
    <message>
        <source>buffers</source>
        <translation>المخازن المؤقتة</translation>
    </message>
    <message>
        <source>fatal</source>
        <translation>قاتل</translation>
    </message>
    <message>
        <source>damage</source>
        <translation>ضرر</translation>
    </message>
    <message>
        <source>contained</source>
        <translation>محتوى</translation>
    </message>
    <message>
        <source>normal</source>
        <translation>عادي</translation>
    </message>
    <message>
        <source>note</source>
        <translation>ملاحظة</translation>
    </message>
    <message>
        <source>activation too large</source>
        <translation>تنشيط أكبر من اللازم</translation>
    </message>
    <message>
        <source>activation below range</source>
        <translation>تنشيط دون المدى</translation>
    </message>
    <message>
        <source>weight too large</source>
        <translation>وزن أكبر من اللازم</translation>
    </message>
    <message>
        <source>gradient too large for scale</source>
        <translation>تدرّج أكبر مما يسمح به المقياس</translation>
    </message>
    <message>
        <source>gradient below range</source>
        <translation>تدرّج دون المدى</translation>
    </message>
    <message>
        <source>update lost</source>
        <translation>تحديث ضائع</translation>
    </message>
    <message>
        <source>weight decay lost</source>
        <translation>اضمحلال أوزان ضائع</translation>
    </message>
    <message>
        <source>epsilon vanished</source>
        <translation>إبسيلون تلاشى</translation>
    </message>
    <message>
        <source>second moment below range</source>
        <translation>العزم الثاني دون المدى</translation>
    </message>
    <message>
        <source>beta vanished</source>
        <translation>بيتا تلاشى</translation>
    </message>
    <message>
        <source>zero divisor</source>
        <translation>مقسوم عليه صفري</translation>
    </message>
    <message>
        <source>mask constant out of range</source>
        <translation>ثابت قناع خارج المدى</translation>
    </message>
    <message>
        <source>mask sum</source>
        <translation>مجموع القناع</translation>
    </message>
    <message>
        <source>reduction too long</source>
        <translation>اختزال أطول من اللازم</translation>
    </message>
    <message>
        <source>divisor overflowed</source>
        <translation>طفح المقسوم عليه</translation>
    </message>
    <message>
        <source>norm overflowed</source>
        <translation>طفح المعيار</translation>
    </message>
    <message>
        <source>clip overflowed</source>
        <translation>طفح القص</translation>
    </message>
    <message>
        <source>clip before unscale</source>
        <translation>قص قبل رفع التحجيم</translation>
    </message>
    <message>
        <source>unscale overflowed</source>
        <translation>طفح رفع التحجيم</translation>
    </message>
    <message>
        <source>unscaled early</source>
        <translation>رفع تحجيم مبكر</translation>
    </message>
    <message>
        <source>update overflowed</source>
        <translation>طفح التحديث</translation>
    </message>
    <message>
        <source>sum stuck</source>
        <translation>مجموع عالق</translation>
    </message>
    <message>
        <source>no gradient</source>
        <translation>لا تدرّج</translation>
    </message>
    <message>
        <source>buffers poisoned</source>
        <translation>مخازن مؤقتة فاسدة</translation>
    </message>
    <message>
        <source>weights poisoned</source>
        <translation>أوزان فاسدة</translation>
    </message>
    <message>
        <source>data not finite</source>
        <translation>بيانات غير منتهية</translation>
    </message>
    <message>
        <source>scale unbounded</source>
        <translation>مقياس بلا حد</translation>
    </message>
    <message>
        <source>scale floor</source>
        <translation>أدنى حد للمقياس</translation>
    </message>
    <message>
        <source>schedule ahead</source>
        <translation>جدول متقدّم</translation>
    </message>
    <message>
        <source>exact zero loss</source>
        <translation>خسارة صفرية تمامًا</translation>
    </message>
    <message>
        <source>no master weights</source>
        <translation>لا أوزان رئيسية</translation>
    </message>
    <message>
        <source>device fault</source>
        <translation>خلل في الجهاز</translation>
    </message>
    <message>
        <source>a result of the forward pass, or what the backward pass makes of it alone, does not fit its format</source>
        <translation>نتيجة في المرور الأمامي، أو ما يحسبه المرور الخلفي منها وحدها، لا تسعها صيغتها</translation>
    </message>
    <message>
        <source>a result of the forward pass is rounded to zero, and that matters</source>
        <translation>نتيجة في المرور الأمامي قُرّبت إلى الصفر، ولذلك أثر</translation>
    </message>
    <message>
        <source>a weight does not fit the format it is cast to</source>
        <translation>وزن لا تسعه الصيغة التي يُحوَّل إليها</translation>
    </message>
    <message>
        <source>a scaled gradient does not fit its format</source>
        <translation>تدرّج محجَّم لا تسعه صيغته</translation>
    </message>
    <message>
        <source>gradients are rounded to zero</source>
        <translation>تُقرَّب التدرّجات إلى الصفر</translation>
    </message>
    <message>
        <source>updates are too small to change the weights they are added to</source>
        <translation>التحديثات أصغر من أن تغيّر الأوزان التي تضاف إليها</translation>
    </message>
    <message>
        <source>lr x weight decay is less than half an ulp: nothing decays</source>
        <translation>معدل التعلّم × اضمحلال الأوزان أقل من نصف ulp: لا يضمحل شيء</translation>
    </message>
    <message>
        <source>an epsilon is 0 in the format it is kept in</source>
        <translation>إبسيلون يساوي 0 في الصيغة المحفوظ بها</translation>
    </message>
    <message>
        <source>Adam&apos;s second moment is rounded to zero: epsilon alone divides the update</source>
        <translation>العزم الثاني في Adam قُرّب إلى الصفر: إبسيلون وحده يقسم التحديث</translation>
    </message>
    <message>
        <source>a beta is 1 or 0 in the format it is kept in</source>
        <translation>بيتا يساوي 1 أو 0 في الصيغة المحفوظ بها</translation>
    </message>
    <message>
        <source>a division by zero, or a logarithm or the slope of a root at zero</source>
        <translation>قسمة على صفر، أو لوغاريتم أو ميل جذر عند الصفر</translation>
    </message>
    <message>
        <source>a mask constant is infinite in its format</source>
        <translation>ثابت قناع لانهائي في صيغته</translation>
    </message>
    <message>
        <source>a finite mask and a score add up to -inf, or to the mask alone</source>
        <translation>قناع منتهٍ ودرجة مجموعهما ‎-inf أو القناع وحده</translation>
    </message>
    <message>
        <source>a sum over many elements leaves the format; each of them fits</source>
        <translation>مجموع عناصر كثيرة يتجاوز الصيغة؛ وكل منها تسعه</translation>
    </message>
    <message>
        <source>the count that a sum is divided by is infinite: the mean is 0</source>
        <translation>العدد الذي يُقسَم عليه المجموع لانهائي: المتوسط 0</translation>
    </message>
    <message>
        <source>squares inside a norm overflow; its result is silently zero</source>
        <translation>تطفح المربعات داخل معيار؛ ونتيجته صفر بلا إنذار</translation>
    </message>
    <message>
        <source>the global norm overflows; clipping erases healthy gradients</source>
        <translation>يطفح المعيار الكلي؛ ويمحو القص تدرّجات سليمة</translation>
    </message>
    <message>
        <source>clipping sees gradients that are still scaled</source>
        <translation>يرى القص تدرّجات لا تزال محجَّمة</translation>
    </message>
    <message>
        <source>the division by the loss scale overflows</source>
        <translation>تطفح القسمة على مقياس الخسارة</translation>
    </message>
    <message>
        <source>one of several micro-batches is unscaled before it is added</source>
        <translation>رُفع تحجيم إحدى الدفعات الصغرى قبل إضافتها</translation>
    </message>
    <message>
        <source>the optimizer&apos;s own numbers leave the range</source>
        <translation>أعداد المحسِّن نفسه تتجاوز المدى</translation>
    </message>
    <message>
        <source>a running sum swallows its addends</source>
        <translation>مجموع جارٍ يبتلع ما يضاف إليه</translation>
    </message>
    <message>
        <source>parameters get no gradient</source>
        <translation>معاملات لا يصلها تدرّج</translation>
    </message>
    <message>
        <source>running statistics are not finite and stay so</source>
        <translation>الإحصاءات الجارية غير منتهية وتبقى كذلك</translation>
    </message>
    <message>
        <source>weights are not finite before the step begins</source>
        <translation>الأوزان غير منتهية قبل بدء الخطوة</translation>
    </message>
    <message>
        <source>the batch, a constant or an injected number is not finite</source>
        <translation>الدفعة أو ثابت أو عدد محقون غير منتهٍ</translation>
    </message>
    <message>
        <source>the loss scale grows without use or end</source>
        <translation>ينمو مقياس الخسارة بلا فائدة ولا نهاية</translation>
    </message>
    <message>
        <source>the loss scale is at its floor and gradients still overflow</source>
        <translation>مقياس الخسارة عند أدنى حدّه ولا تزال التدرّجات تطفح</translation>
    </message>
    <message>
        <source>skipped steps moved the learning rate</source>
        <translation>حرّكت الخطوات المتخطّاة معدل التعلّم</translation>
    </message>
    <message>
        <source>the loss is exactly 0</source>
        <translation>الخسارة 0 تمامًا</translation>
    </message>
    <message>
        <source>weights are kept in 16 bits alone: not mixed precision</source>
        <translation>تُحفظ الأوزان في 16 بت وحدها: ليست دقة مختلطة</translation>
    </message>
    <message>
        <source>the same step computed again gives other bits</source>
        <translation>حساب الخطوة نفسها مرة أخرى يعطي بتات أخرى</translation>
    </message>
    <message>
        <source>what is recorded does not tell the cause</source>
        <translation>المسجَّل لا يبيّن السبب</translation>
    </message>
    <message>
        <source>dropped</source>
        <translation>سجلات ساقطة</translation>
    </message>
    <message>
        <source>lost</source>
        <translation>سجلات ضائعة</translation>
    </message>
    <message>
        <source>fault</source>
        <translation>خلل</translation>
    </message>
    <message>
        <source>throttled</source>
        <translation>مخفَّف</translation>
    </message>
    <message>
        <source>refused</source>
        <translation>مرفوض</translation>
    </message>
    <message>
        <source>timing</source>
        <translation>القياس الزمني</translation>
    </message>
    <message>
        <source>training</source>
        <translation>التدريب</translation>
    </message>
    <message>
        <source>seeds</source>
        <translation>البذور</translation>
    </message>
    <message>
        <source>steps</source>
        <translation>الخطوات</translation>
    </message>
    <message>
        <source>final loss</source>
        <translation>الخسارة النهائية</translation>
    </message>
    <message>
        <source>loss</source>
        <translation>الخسارة</translation>
    </message>
    <message>
        <source>best loss</source>
        <translation>أفضل خسارة</translation>
    </message>
    <message>
        <source>held-out loss</source>
        <translation>خسارة بيانات التحقق</translation>
    </message>
    <message>
        <source>distance from fp32</source>
        <translation>البعد عن fp32</translation>
    </message>
    <message>
        <source>from plain sums</source>
        <translation>عن المجاميع العادية</translation>
    </message>
    <message>
        <source>steps applied</source>
        <translation>الخطوات المطبَّقة</translation>
    </message>
    <message>
        <source>steps skipped</source>
        <translation>الخطوات المتخطّاة</translation>
    </message>
    <message>
        <source>overflows</source>
        <translation>حالات الطفح</translation>
    </message>
    <message>
        <source>loss scale, first</source>
        <translation>مقياس الخسارة، الأول</translation>
    </message>
    <message>
        <source>loss scale, range</source>
        <translation>مقياس الخسارة، المدى</translation>
    </message>
    <message>
        <source>loss scale, last</source>
        <translation>مقياس الخسارة، الأخير</translation>
    </message>
    <message>
        <source>step time</source>
        <translation>زمن الخطوة</translation>
    </message>
    <message>
        <source>time</source>
        <translation>الزمن</translation>
    </message>
    <message>
        <source>tokens/s</source>
        <translation>الرموز في الثانية</translation>
    </message>
    <message>
        <source>× fp32&apos;s speed</source>
        <translation>× سرعة fp32</translation>
    </message>
    <message>
        <source>peak</source>
        <translation>الذروة</translation>
    </message>
    <message>
        <source>memory</source>
        <translation>الذاكرة</translation>
    </message>
    <message>
        <source>× fp32&apos;s peak</source>
        <translation>× ذروة fp32</translation>
    </message>
    <message>
        <source>peak by category</source>
        <translation>الذروة بحسب الفئة</translation>
    </message>
    <message>
        <source>runs the figures are over</source>
        <translation>التشغيلات التي تشملها الأرقام</translation>
    </message>
    <message>
        <source>mean over the last 10 recorded steps whose loss is finite, NaN if a run ended in numbers that are not; mean and standard deviation over seeds</source>
        <translation>متوسط آخر 10 خطوات مسجَّلة خسارتها منتهية، وNaN إذا انتهى تشغيل بأعداد غير منتهية؛ المتوسط والانحراف المعياري على البذور</translation>
    </message>
    <message>
        <source>least training loss of a step; mean and standard deviation over seeds</source>
        <translation>أصغر خسارة تدريب لخطوة؛ المتوسط والانحراف المعياري على البذور</translation>
    </message>
    <message>
        <source>last evaluation; mean and standard deviation over seeds</source>
        <translation>آخر تقييم؛ المتوسط والانحراف المعياري على البذور</translation>
    </message>
    <message>
        <source>mean difference paired by seed, its 95 % interval, and the standard deviation between fp32 seeds</source>
        <translation>متوسط الفرق المزاوج بحسب البذرة، ومجاله عند 95 %، والانحراف المعياري بين بذور fp32</translation>
    </message>
    <message>
        <source>emulated sums: mean difference from the same mode with plain sums, paired by seed, its 95 % interval, and the standard deviation between fp32 seeds</source>
        <translation>مجاميع محاكاة: متوسط الفرق عن النمط نفسه بمجاميع عادية، المزاوج بحسب البذرة، ومجاله عند 95 %، والانحراف المعياري بين بذور fp32</translation>
    </message>
    <message>
        <source>all seeds together</source>
        <translation>كل البذور معًا</translation>
    </message>
    <message>
        <source>steps with a gradient that was not finite, all seeds together</source>
        <translation>خطوات فيها تدرّج غير منتهٍ، كل البذور معًا</translation>
    </message>
    <message>
        <source>of the first step</source>
        <translation>للخطوة الأولى</translation>
    </message>
    <message>
        <source>least and greatest of all steps and seeds</source>
        <translation>الأصغر والأكبر في كل الخطوات والبذور</translation>
    </message>
    <message>
        <source>of the last step; a range if seeds differ</source>
        <translation>للخطوة الأخيرة؛ ومدى إن اختلفت البذور</translation>
    </message>
    <message>
        <source>median and quartiles of the timing phase, in which one seed is timed</source>
        <translation>الوسيط والربيعيات لمرحلة القياس الزمني، وفيها تُقاس بذرة واحدة</translation>
    </message>
    <message>
        <source>tokens of a step by its median time</source>
        <translation>رموز الخطوة على زمنها الوسيط</translation>
    </message>
    <message>
        <source>fp32&apos;s median step time by this mode&apos;s</source>
        <translation>زمن خطوة fp32 الوسيط على زمن هذا النمط</translation>
    </message>
    <message>
        <source>the allocator&apos;s peak, without what was held to observe; greatest of the seeds</source>
        <translation>ذروة المخصِّص دون ما حُجز للرصد؛ أكبر ما في البذور</translation>
    </message>
    <message>
        <source>peak by fp32&apos;s peak</source>
        <translation>الذروة على ذروة fp32</translation>
    </message>
    <message>
        <source>at the peak</source>
        <translation>عند الذروة</translation>
    </message>
    <message>
        <source>batch, constants, scalars of the step</source>
        <translation>الدفعة والثوابت والأعداد المفردة للخطوة</translation>
    </message>
    <message>
        <source>alignment and placement, at the peak</source>
        <translation>المحاذاة والتموضع، عند الذروة</translation>
    </message>
    <message>
        <source>running statistics and their committed values</source>
        <translation>الإحصاءات الجارية وقيمها المعتمدة</translation>
    </message>
    <message>
        <source>step</source>
        <translation>الخطوة</translation>
    </message>
    <message>
        <source>to first</source>
        <translation>إلى الأولى</translation>
    </message>
    <message>
        <source>step × peak</source>
        <translation>الخطوة × الذروة</translation>
    </message>
    <message>
        <source>step × bandwidth</source>
        <translation>الخطوة × عرض النطاق</translation>
    </message>
    <message>
        <source>step × clock</source>
        <translation>الخطوة × التردد</translation>
    </message>
    <message>
        <source>device busy</source>
        <translation>انشغال الجهاز</translation>
    </message>
    <message>
        <source>clock held down</source>
        <translation>التردد المخفَّض</translation>
    </message>
    <message>
        <source>peak memory</source>
        <translation>ذروة الذاكرة</translation>
    </message>
    <message>
        <source>final loss − first</source>
        <translation>الخسارة النهائية − الأولى</translation>
    </message>
    <message>
        <source>median and quartiles</source>
        <translation>الوسيط والربيعيات</translation>
    </message>
    <message>
        <source>step by the first machine&apos;s</source>
        <translation>الخطوة على خطوة الآلة الأولى</translation>
    </message>
    <message>
        <source>what the machine could have computed in that time at the peak of the mode&apos;s products</source>
        <translation>ما كان يمكن للآلة حسابه في ذلك الزمن عند ذروة مضروبات النمط</translation>
    </message>
    <message>
        <source>that by the first machine&apos;s</source>
        <translation>ذلك على ما للآلة الأولى</translation>
    </message>
    <message>
        <source>what it could have moved</source>
        <translation>ما كان يمكنها نقله</translation>
    </message>
    <message>
        <source>cycles of its clock</source>
        <translation>دورات ترددها</translation>
    </message>
    <message>
        <source>those by the first machine&apos;s</source>
        <translation>تلك على ما للآلة الأولى</translation>
    </message>
    <message>
        <source>share of the step with a kernel at work, in traced steps</source>
        <translation>حصة الخطوة التي تعمل فيها نواة، في الخطوات المتتبَّعة</translation>
    </message>
    <message>
        <source>share of the GPU&apos;s samples while it was timed</source>
        <translation>حصة عينات المعالج الرسومي أثناء القياس الزمني</translation>
    </message>
    <message>
        <source>the allocator&apos;s peak, without what was held to observe</source>
        <translation>ذروة المخصِّص دون ما حُجز للرصد</translation>
    </message>
    <message>
        <source>mean over the seeds that both machines finished, with its 95 % interval</source>
        <translation>متوسط البذور التي أتمّتها الآلتان، مع مجاله عند 95 %</translation>
    </message>
    <message>
        <source>matrix products</source>
        <translation>جداءات المصفوفات</translation>
    </message>
    <message>
        <source>attention</source>
        <translation>الانتباه</translation>
    </message>
    <message>
        <source>convolution</source>
        <translation>الالتفاف</translation>
    </message>
    <message>
        <source>normalisation</source>
        <translation>التطبيع</translation>
    </message>
    <message>
        <source>softmax, loss</source>
        <translation>softmax والخسارة</translation>
    </message>
    <message>
        <source>element-wise</source>
        <translation>عنصرًا بعنصر</translation>
    </message>
    <message>
        <source>reductions</source>
        <translation>الاختزالات</translation>
    </message>
    <message>
        <source>embedding</source>
        <translation>التضمين</translation>
    </message>
    <message>
        <source>unscale and check</source>
        <translation>رفع التحجيم والفحص</translation>
    </message>
    <message>
        <source>optimizer</source>
        <translation>المحسِّن</translation>
    </message>
    <message>
        <source>copies</source>
        <translation>النسخ</translation>
    </message>
    <message>
        <source>other</source>
        <translation>غير ذلك</translation>
    </message>
    <message>
        <source>of no known node</source>
        <translation>من عقدة غير معروفة</translation>
    </message>
    <message>
        <source>outside domain</source>
        <translation>خارج مجال الدالة</translation>
    </message>
    <message>
        <source>the root or the logarithm of a negative number: NaN from finite inputs</source>
        <translation>جذر عدد سالب أو لوغاريتمه: NaN من مدخلات منتهية</translation>
    </message>
    <message>
        <source>divergence</source>
        <translation>تباعد</translation>
    </message>
    <message>
        <source>the loss runs away, and nothing of the precision is known to be behind it</source>
        <translation>ترتفع الخسارة بلا حد، ولا يُعرف أن للدقة العددية يدًا في ذلك</translation>
    </message>
    <message>
        <source>variance lost</source>
        <translation>فقدان التباين</translation>
    </message>
    <message>
        <source>held out not finite</source>
        <translation>خسارة التحقق غير منتهية</translation>
    </message>
    <message>
        <source>a norm reads numbers so far from 0 that rounding them takes their variance away</source>
        <translation>طبقة تطبيع تقرأ أعدادًا بعيدة عن الصفر بُعدًا يجعل تقريبها يُذهب تباينها</translation>
    </message>
    <message>
        <source>the held-out loss is not finite, though the training loss is</source>
        <translation>خسارة بيانات التحقق غير منتهية، مع أن خسارة التدريب منتهية</translation>
    </message>
</context>
</TS>
